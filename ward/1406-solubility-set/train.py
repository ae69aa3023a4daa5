"""Deep-sets model for solubility of small molecules (bags of atoms plus fingerprint), data from two vendor libraries."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ELEMENTS = ["C", "N", "O", "S", "F", "Cl", "Br", "P"]
MAX_ATOMS = 18
FP_BITS = 32


def new_molecule(g):
    n = int(torch.randint(6, MAX_ATOMS + 1, (1,), generator=g))
    probs = torch.tensor([0.5, 0.12, 0.16, 0.05, 0.06, 0.05, 0.03, 0.03])
    atoms = torch.multinomial(probs, n, replacement=True, generator=g)
    charge = 0.5 * torch.randn(n, generator=g)
    degree = torch.randint(1, 5, (n,), generator=g).float()
    weight = torch.tensor([-0.35, 0.6, 0.7, -0.1, -0.2, -0.5, -0.6, 0.4])
    polar = (weight[atoms] * (1 + 0.6 * charge)).sum() - 0.1 * (degree * (atoms == 0)).sum()
    bits = (torch.rand(FP_BITS, generator=g) < 0.3).float()
    ring = 0.35 * (bits[:6] * torch.tensor([1.0, -1, 1, -1, 1, -1])).sum()
    s = 0.45 * polar + ring + 0.5 * torch.tanh(charge.abs().sum() - 3) + 0.6 * torch.randn(1, generator=g).item()
    return {"atoms": atoms, "charge": charge, "degree": degree, "fp": bits, "logs": float(s)}


def read_libraries(g):
    stock = [new_molecule(g) for _ in range(2000)]
    ids = torch.randperm(2000, generator=g)
    lib_a = [dict(stock[i], key=int(i), vendor="A") for i in ids[:1750]]
    ids = torch.randperm(2000, generator=g)
    lib_b = [dict(stock[i], key=int(i), vendor="B") for i in ids[:1750]]
    later = [dict(new_molecule(g), key=5000 + i, vendor="C") for i in range(800)]
    return lib_a, lib_b, later


def to_batch(mols):
    x = torch.zeros(len(mols), MAX_ATOMS, len(ELEMENTS) + 2)
    mask = torch.zeros(len(mols), MAX_ATOMS)
    for i, m in enumerate(mols):
        n = len(m["atoms"])
        x[i, :n, :8] = F.one_hot(m["atoms"], 8).float()
        x[i, :n, 8] = m["charge"]
        x[i, :n, 9] = (m["degree"] - 2.5) / 1.1
        mask[i, :n] = 1
    fp = (torch.stack([m["fp"] for m in mols]) - 0.3) / 0.46
    return {"x": x, "mask": mask, "fp": fp, "y": torch.tensor([m["logs"] for m in mols])}


class DeepSet(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(width + FP_BITS, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, b):
        h = (self.phi(b["x"]) * b["mask"].unsqueeze(2)).sum(1) / 4
        return self.rho(torch.cat([h, b["fp"]], 1)).squeeze(1)


def pick(batch, ids):
    return {k: v[ids] for k, v in batch.items()}


def evaluate(model, batch):
    model.eval()
    with torch.no_grad():
        p = model(batch)
    mse = F.mse_loss(p, batch["y"])
    return mse.item(), (1 - mse / batch["y"].var()).item()


def main():
    torch.manual_seed(6)
    g = torch.Generator().manual_seed(6)
    lib_a, lib_b, later = read_libraries(g)
    mols = lib_a + lib_b
    perm = torch.randperm(len(mols), generator=g).tolist()
    n_val = len(mols) // 5
    val = to_batch([mols[i] for i in perm[:n_val]])
    train = to_batch([mols[i] for i in perm[n_val:]])
    test = to_batch(later)
    print("train", len(train["y"]), "val", n_val, "test", len(later))

    model = DeepSet()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=3e-2)
    for epoch in range(1, EPOCHS + 1):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(train["y"])).split(32):
            b = pick(train, ids)
            loss = F.mse_loss(model(b), b["y"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        if epoch % 2 == 1:
            mse, r2 = evaluate(model, val)
            print(f"epoch {epoch:3d} train mse {total / len(train['y']):.3f} val mse {mse:.3f} val r2 {r2:.3f}")
    print("library C: mse %.3f r2 %.3f" % evaluate(model, test))


EPOCHS = 15

if __name__ == "__main__":
    main()
