# ratings = user taste x item traits; users and items are fitted in turn
import torch
import torch.nn as nn

torch.manual_seed(0)
U, I, K = 300, 200, 4
true_u, true_i = torch.randn(U, K) * 0.8, torch.randn(I, K) * 0.8
pairs = torch.randperm(U * I)[:16000]
u, i = pairs // I, pairs % I
r = (true_u[u] * true_i[i]).sum(1) + 0.2 * torch.randn(len(pairs))
train, val = slice(0, 13000), slice(13000, None)


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(U, K), nn.Embedding(I, K)
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1)


model = Factors()
opt_user = torch.optim.Adam(model.user.parameters(), lr=0.05)
opt_item = torch.optim.Adam(model.item.parameters(), lr=0.05)
scheds = [torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.3, patience=1, threshold=1e-2) for o in (opt_user, opt_item)]
mse = nn.MSELoss()
ut, it, rt = u[train], i[train], r[train]

for epoch in range(1, 31):
    total, n = 0.0, 0
    for k, b in enumerate(torch.randperm(len(ut)).split(650)):
        opt = opt_user if k % 2 == 0 else opt_item
        model.zero_grad()
        loss = mse(model(ut[b], it[b]), rt[b])
        loss.backward()
        opt.step()
        total, n = total + loss.item(), n + 1
    with torch.no_grad():
        v = mse(model(u[val], i[val]), r[val]).item()
    for s in scheds:
        s.step(v)
    print(f"epoch {epoch:2d} train mse {total / n:.4f} val mse {v:.4f} lr {opt_user.param_groups[0]['lr']:.4f}")
