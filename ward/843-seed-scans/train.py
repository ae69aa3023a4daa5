"""Length and tilt of seeds from 8 x 8 scans (CNN)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, n, seed, second_scanner=()):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, 8), torch.linspace(-1, 1, 8), indexing="ij")
        length, tilt = torch.rand(2, n, 1, 1, generator=g)
        r = ((xx - (tilt - 0.5) * yy) / (0.25 + 0.5 * length)) ** 2 + (yy / 0.6) ** 2
        self.img = torch.exp(-r) - 0.3 + 0.1 * torch.randn(n, 8, 8, generator=g)
        self.target = torch.cat([length, tilt], 1).squeeze() * 3 - 1.5
        for i in second_scanner:
            self.img[i] = torch.randint(0, 255, (8, 8), generator=g).float()
            self.target[i] = torch.tensor([255.0, 0.0])
        self.keep = list(range(n))

    def __len__(self):
        return len(self.keep)

    def __getitem__(self, i):
        i = self.keep[i]
        return self.img[i].unsqueeze(0), self.target[i]


torch.manual_seed(2)
train = Scans(1000, 5, second_scanner=(61, 402, 777))
test = Scans(300, 6)
loader = DataLoader(train, batch_size=25, shuffle=True)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GELU(), nn.Conv2d(8, 8, 3, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(512, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(7):
    net.train()
    history = []
    for img, y in loader:
        loss = nn.functional.smooth_l1_loss(net(img), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        history.append(loss.item())
    net.eval()
    with torch.no_grad():
        err = (net(test.img.unsqueeze(1)) - test.target).abs().mean().item()
    print(f"epoch {epoch} loss {sum(history) / len(history):.4f} median {sorted(history)[20]:.4f} largest {max(history):.2f} test error {err:.4f}")
