import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from sklearn.metrics import roc_auc_score

N_USERS, N_ITEMS, TASTES = 300, 400, 5


class Clicks(IterableDataset):
    """Simulated log: (user, item, hour of day, clicked)."""

    def __init__(self, n, seed):
        self.n, self.seed = n, seed
        world = torch.Generator().manual_seed(70)
        self.taste = torch.randn(N_USERS, TASTES, generator=world)
        self.topic = torch.randn(N_ITEMS, TASTES, generator=world)
        self.popular = torch.randn(N_ITEMS, generator=world) * 0.3

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        self.seed += 1
        u = torch.randint(0, N_USERS, (self.n,), generator=g)
        i = torch.randint(0, N_ITEMS, (self.n,), generator=g)
        hour = torch.rand(self.n, generator=g)
        score = 1.1 * (self.taste[u] * self.topic[i]).sum(1) + self.popular[i] + 0.6 * torch.sin(6.28 * hour)
        click = (torch.rand(self.n, generator=g) < torch.sigmoid(score)).float()
        for a in range(0, self.n, 256):
            s = slice(a, a + 256)
            yield {"user": u[s], "item": i[s], "hour": hour[s], "click": click[s]}


class TwoTower(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim, sparse=True)
        self.item = nn.Embedding(N_ITEMS, dim, sparse=True)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.3)
        self.context = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.mix = nn.Linear(dim, dim, bias=False)

    def forward(self, batch):
        clock = torch.stack([torch.sin(6.28 * batch["hour"]), torch.cos(6.28 * batch["hour"])], 1)
        match = (self.mix(self.user(batch["user"])) * self.item(batch["item"])).sum(1)
        return match + self.context(clock).squeeze(1)


def auc(model, loader):
    model.eval()
    y, p = [], []
    with torch.no_grad():
        for batch in loader:
            p.append(model(batch))
            y.append(batch["click"])
    return roc_auc_score(torch.cat(y).numpy(), torch.cat(p).numpy())


torch.manual_seed(4)
train = DataLoader(Clicks(20000, seed=1000), batch_size=None)
model = TwoTower()
tables = [model.user.weight, model.item.weight]
rest = [p for n, p in model.named_parameters() if not n.startswith(("user", "item"))]
# Adam does not take sparse gradients, so the tables have their own optimizer
sparse_opt = torch.optim.SparseAdam(tables, lr=0.02)
dense_opt = torch.optim.Adam(rest, lr=3e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(1, 19):
    model.train()
    total = n = 0
    for batch in train:
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss = criterion(model(batch), batch["click"])
        loss.backward()
        dense_opt.step()
        total, n = total + loss.item(), n + 1
    fresh = DataLoader(Clicks(5000, seed=5), batch_size=None)
    print(f"epoch {epoch:2d} logloss {total / n:.4f} AUC {auc(model, fresh):.4f}")
