"""Multi-label tagging of radiology embeddings: fourteen findings, several or none per study."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

FINDINGS = ["atelectasis", "cardiomegaly", "consolidation", "edema", "effusion", "emphysema", "fibrosis",
            "hernia", "infiltration", "mass", "nodule", "pleural", "pneumonia", "pneumothorax"]

CONFIG = {"n_train": 4800, "n_val": 1000, "dim": 48, "batch": 64, "epochs": 5, "lr": 2.5e-3, "seed": 14}


class Studies:
    def __init__(self, cfg):
        self.g = torch.Generator().manual_seed(cfg["seed"])
        self.signs = torch.randn(len(FINDINGS), cfg["dim"], generator=self.g)
        self.signs = 1.9 * self.signs / self.signs.norm(dim=1, keepdim=True)
        self.rates = torch.linspace(0.025, 0.07, len(FINDINGS))

    def draw(self, n):
        y = (torch.rand(n, len(FINDINGS), generator=self.g) < self.rates).float()
        x = y @ self.signs + torch.randn(n, self.signs.shape[1], generator=self.g)
        return x, y


def scores(logits, target):
    pred = (logits > 0).float()
    tp = (pred * target).sum(0)
    f1 = 2 * tp / (pred.sum(0) + target.sum(0)).clamp(min=1)
    recall = tp / target.sum(0).clamp(min=1)
    return (pred == target).float().mean().item(), recall.mean().item(), f1.mean().item()


def run(cfg):
    torch.manual_seed(cfg["seed"])
    studies = Studies(cfg)
    x_tr, y_tr = studies.draw(cfg["n_train"])
    x_va, y_va = studies.draw(cfg["n_val"])
    loader = DataLoader(TensorDataset(x_tr, y_tr), cfg["batch"], shuffle=True)

    net = nn.Sequential(nn.Linear(cfg["dim"], 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, len(FINDINGS)))
    positives = y_tr.mean(0)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - positives) / positives)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=0.05)

    for epoch in range(1, cfg["epochs"] + 1):
        net.train()
        total = 0.0
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = criterion(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        net.eval()
        with torch.no_grad():
            out = net(x_va)
            val = criterion(out, y_va).item()
        acc, rec, f1 = scores(out, y_va)
        print(f"[{epoch}/{cfg['epochs']}] train {total / len(x_tr):.4f}  val {val:.4f}  "
              f"acc {acc:.4f}  mean recall {rec:.3f}  macro-F1 {f1:.3f}")


if __name__ == "__main__":
    run(CONFIG)
