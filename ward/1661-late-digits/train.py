# The scanner first read the digits 0-4 only; 5-9 came with the second batch of forms.
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(11)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
train_idx, test_idx = train_test_split(torch.arange(len(labels)).numpy(), test_size=0.3, random_state=0, stratify=digits.target)
train_idx, test_idx = torch.tensor(train_idx), torch.tensor(test_idx)

low = labels < 5
x_low, y_low = images[train_idx[low[train_idx]]], labels[train_idx[low[train_idx]]]
x_high, y_high = images[train_idx[~low[train_idx]]], labels[train_idx[~low[train_idx]]]
t_low = test_idx[low[test_idx]]
t_high = test_idx[~low[test_idx]]

net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(32 * 4, 10),
)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
BATCH = 32


def validate(ids):
    net.eval()
    with torch.no_grad():
        out = net(images[ids])
        loss = F.cross_entropy(out, labels[ids]).item()
        hits = (out.argmax(1) == labels[ids]).float().mean().item()
    net.train()
    return loss, hits


print("-- forms of the first batch")
for epoch in range(8):
    order = torch.randperm(len(x_low))
    for i in range(0, len(order), BATCH):
        take = order[i:i + BATCH]
        loss = F.cross_entropy(net(x_low[take]), y_low[take])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}  train {loss.item():.3f}  0-4: loss %.3f acc %.3f" % validate(t_low))

print("-- forms of the second batch")
for epoch in range(8):
    order = torch.randperm(len(x_high))
    for i in range(0, len(order), BATCH):
        take = order[i:i + BATCH]
        loss = F.cross_entropy(net(x_high[take]), y_high[take])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}  train {loss.item():.3f}  0-4: loss %.3f acc %.3f" % validate(t_low), " 5-9: loss %.3f acc %.3f" % validate(t_high))
