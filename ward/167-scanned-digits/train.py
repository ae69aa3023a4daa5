import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(19)
imgs, labels = load_digits(return_X_y=True)
imgs = torch.tensor(imgs, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
imgs = imgs + 0.4 * torch.randn(imgs.shape)               # simulated sensor noise
train_idx, val_idx = train_test_split(range(len(labels)), train_size=0.06, test_size=0.3, stratify=labels, random_state=1)
labels = torch.tensor(labels)
train_idx, val_idx = torch.tensor(train_idx), torch.tensor(val_idx)


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 4, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


net = DigitNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
print(len(train_idx), "pictures for training,", len(val_idx), "for validation")
step, window = 0, []
while step < 240:
    for batch in train_idx[torch.randperm(len(train_idx))].split(32):
        net.train()
        loss = F.cross_entropy(net(imgs[batch]), labels[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        window.append(loss.item())
        if step % 20 == 0:
            net.eval()
            with torch.no_grad():
                out = net(imgs[val_idx])
            print(f"step {step:3d} train {sum(window) / len(window):.4f} val {F.cross_entropy(out, labels[val_idx]):.4f} acc {(out.argmax(1) == labels[val_idx]).float().mean():.3f}")
            window = []
