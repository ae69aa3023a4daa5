import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(1)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
perm = torch.randperm(len(images))
train, test = perm[:1400], perm[1400:]

net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(96, 10),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
EPOCHS = 12

for epoch in range(EPOCHS):
    shuffled = train[torch.randperm(len(train))]
    for i in range(0, len(shuffled), 32):
        rows = shuffled[i : i + 32]
        optimizer.zero_grad()
        loss = loss_fn(net(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        out = net(images[test])
        print(f"epoch {epoch} loss {loss.item():.3f} test loss {loss_fn(out, labels[test]).item():.3f} acc {(out.argmax(1) == labels[test]).float().mean().item():.3f}")
