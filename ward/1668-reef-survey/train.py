# Reef fish by colour and outline; afterwards: how much dirt on the lens, and how dark a picture, can the counter take?
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
N, D, C = 2400, 18, 5
centres = 1.3 * torch.randn(C, D)
kind = torch.randint(0, C, (N,))
table = torch.sigmoid(centres[kind] + torch.randn(N, D))  # 0..1, as the extractor gives them
x, y, x_test, y_test = table[:2000], kind[:2000], table[2000:], kind[2000:]

net = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, C))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    net.train()
    for rows in torch.randperm(len(x)).split(50):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        test_accuracy = (net(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} test accuracy {test_accuracy:.3f}")


@torch.no_grad()
def robustness(dirty):
    return (net(dirty).argmax(1) == y_test).float().mean().item()


for strength in (0.1, 0.3, 0.6):
    noisy = x_test + strength * torch.randn_like(x_test)
    darker = x_test * (1 - strength)
    print(f"strength {strength}: noise {robustness(noisy):.3f}, darkness {robustness(darker):.3f}")
