import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset

random.seed(9)
torch.manual_seed(9)


class PairDataset(Dataset):
    def __init__(self, images, labels, n_pairs, seed):
        self.images = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 16
        rng = random.Random(seed)
        by_class = {c: [i for i, l in enumerate(labels) if l == c] for c in range(10)}
        self.pairs = []
        for k in range(n_pairs):
            a = rng.randrange(len(labels))
            if k % 2:
                b = rng.choice(by_class[labels[a]])
            else:
                b = rng.choice(by_class[rng.choice([c for c in range(10) if c != labels[a]])])
            self.pairs.append((a, b, float(k % 2)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b, same = self.pairs[i]
        return self.images[a], self.images[b], same


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(32 * 4, dim)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def contrastive(e1, e2, same, margin=1.0):
    d = F.pairwise_distance(e1, e2)
    return (same * d ** 2 + (1 - same) * F.relu(margin - d) ** 2).mean(), d


def run_epoch(net, loader, optimizer=None):
    net.train(optimizer is not None)
    total, correct, n = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for a, b, same in loader:
            same = same.float()
            loss, d = contrastive(net(a), net(b), same)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(same)
            correct += ((d < 0.5).float() == same).sum().item()
            n += len(same)
    return total / n, correct / n


digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0)).numpy()
images, labels = digits.images[order], digits.target[order]
train_loader = DataLoader(PairDataset(images[:1400], labels[:1400], 5000, 1), batch_size=64, shuffle=True)
val_loader = DataLoader(PairDataset(images[1400:], labels[1400:], 1000, 2), batch_size=250)

net = Embedder()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
for epoch in range(1, 19):
    tr_loss, tr_acc = run_epoch(net, train_loader, optimizer)
    va_loss, va_acc = run_epoch(net, val_loader)
    scheduler.step()
    print(f"Epoch {epoch:02d}  loss {tr_loss:.4f}/{va_loss:.4f}  acc {tr_acc:.3f}/{va_acc:.3f}")
