import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
features, pest = make_classification(n_samples=1000, n_features=24, n_informative=12, n_classes=6, n_clusters_per_class=1, class_sep=1.2, flip_y=0.08, random_state=5)
features = torch.tensor(features, dtype=torch.float32)
features = (features - features.mean(0)) / features.std(0)
pest = torch.tensor(pest)
train = DataLoader(TensorDataset(features[:800], pest[:800]), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(features[800:], pest[800:]), batch_size=200)

model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(6):
    model.train()
    running = 0.0
    for x, y in train:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(x)
    model.eval()
    with torch.no_grad():
        x, y = next(iter(valid))
        out = model(x)
    print(f"epoch {epoch}: train {running / 800:.3f} valid {loss_fn(out, y).item():.3f} accuracy {(out.argmax(1) == y).float().mean().item():.3f}")
