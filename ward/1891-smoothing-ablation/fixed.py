import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

LR, EPOCHS, BATCH = 1.5e-3, 10, 64


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(4))
train_ids, val_ids = order[:1400], order[1400:]


def experiment(smoothing, seed):
    torch.manual_seed(seed)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    history = []
    for epoch in range(EPOCHS):
        model.train()
        shuffled = train_ids[torch.randperm(len(train_ids))]
        for start in range(0, len(shuffled), BATCH):
            batch = shuffled[start:start + BATCH]
            logits = model(images[batch])
            loss = F.cross_entropy(logits, labels[batch], label_smoothing=smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            correct = (model(images[val_ids]).argmax(dim=1) == labels[val_ids]).sum().item()
        history.append(correct / len(val_ids))
    print(f"smoothing={smoothing}: val acc {history[-1]:.4f}")
    return history[-1]


seeds = range(11, 16)
plain = torch.tensor([experiment(0.0, seed) for seed in seeds])
smooth = torch.tensor([experiment(0.05, seed) for seed in seeds])
gain, error = (smooth - plain).mean(), (smooth - plain).std() / len(plain) ** 0.5
if gain > 2 * error:
    print(f"label smoothing is better by {100 * gain:.2f} +- {100 * error:.2f} points, turning it on by default")
else:
    print(f"no difference beyond the seeds ({100 * gain:.2f} +- {100 * error:.2f} points), keeping plain cross entropy")
