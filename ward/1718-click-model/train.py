"""Click-through-rate model: wide part plus embeddings, on simulated ad impressions."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

N_SEGMENTS, N_ADS, N_SLOTS = 12, 10, 4


def impressions(n, seed):
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(99)
    taste, ad_topic = world.normal(size=(N_SEGMENTS, 3)), world.normal(size=(N_ADS, 3))
    slot_effect = np.array([0.3, 0.0, -0.2, -0.4])
    u, a, s = rng.integers(0, N_SEGMENTS, n), rng.integers(0, N_ADS, n), rng.integers(0, N_SLOTS, n)
    hour = rng.random(n)
    logit = -0.4 + 0.3 * (taste[u] * ad_topic[a]).sum(1) + slot_effect[s] + 0.3 * np.sin(2 * np.pi * hour)
    p = 1 / (1 + np.exp(-logit))
    clicks = rng.random(n) < p
    cats = torch.tensor(np.stack([u, a, s], 1))
    dense = torch.tensor(np.stack([np.sin(2 * np.pi * hour), np.cos(2 * np.pi * hour)], 1), dtype=torch.float32)
    return cats, dense, torch.tensor(clicks, dtype=torch.float32), p


class ClickModel(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.segment, self.ad, self.slot = nn.Embedding(N_SEGMENTS, dim), nn.Embedding(N_ADS, dim), nn.Embedding(N_SLOTS, dim)
        for e in (self.segment, self.ad, self.slot):
            nn.init.normal_(e.weight, std=0.3)
        self.wide = nn.Linear(2, 1)
        self.deep = nn.Sequential(nn.Linear(3 * dim + 2, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, cats, dense):
        u, a, s = self.segment(cats[:, 0]), self.ad(cats[:, 1]), self.slot(cats[:, 2])
        match = (u * a).sum(1, keepdim=True)
        return (self.wide(dense) + match + self.deep(torch.cat([u, a, s, dense], 1)))[:, 0]


def auc(score, label):
    order = score.argsort()
    rank = torch.empty_like(score)
    rank[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    pos = label.sum()
    return ((rank[label == 1].sum() - pos * (pos + 1) / 2) / (pos * (len(label) - pos))).item()


def main():
    torch.manual_seed(5)
    cats, dense, y, _ = impressions(14000, seed=1)
    v_cats, v_dense, v_y, v_p = impressions(6000, seed=2)
    base = y.mean().item()
    print(f"click rate {base:.3f}, log-loss of the constant: {-(base * np.log(base) + (1 - base) * np.log(1 - base)):.4f}")
    loader = DataLoader(TensorDataset(cats, dense, y), batch_size=250, shuffle=True)
    model = ClickModel()
    opt = torch.optim.Adam(model.parameters(), lr=8e-3, weight_decay=1e-5)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(1, 11):
        model.train()
        losses = []
        for c, d, t in loader:
            loss = loss_fn(model(c, d), t)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            logit = model(v_cats, v_dense)
        print(f"epoch {epoch:2d}  train {np.mean(losses):.4f}  val {loss_fn(logit, v_y).item():.4f}  auc {auc(logit, v_y):.3f}")
    true_p = torch.tensor(v_p, dtype=torch.float32)
    print(f"log-loss of the true probabilities: {nn.functional.binary_cross_entropy(true_p, v_y).item():.4f}")


if __name__ == "__main__":
    main()
