"""Disease subtype from a gene panel: many noisy genes, weak signal."""
import torch
import torch.nn as nn

torch.manual_seed(17)
GENES, SUBTYPES, TRAIN, VALID = 400, 4, 1200, 1500


def cohort():
    profile = torch.randn(SUBTYPES, GENES) * (torch.rand(SUBTYPES, GENES) < 0.25)
    y = torch.randint(0, SUBTYPES, (TRAIN + VALID,))
    x = 0.2 * profile[y] + torch.randn(len(y), GENES)
    x = (x - x[:TRAIN].mean(0)) / x[:TRAIN].std(0)
    return x[:TRAIN], y[:TRAIN], x[TRAIN:], y[TRAIN:]


class PanelNet(nn.Module):
    def __init__(self, hidden=512, p_in=0.5, p_hidden=0.7):
        super().__init__()
        self.body = nn.Sequential(nn.Dropout(p_in), nn.Linear(GENES, hidden), nn.ReLU(), nn.Dropout(p_hidden), nn.Linear(hidden, SUBTYPES))

    def forward(self, x):
        return self.body(x)


def main(epochs=60, batch_size=40):
    x, y, xv, yv = cohort()
    net = PanelNet()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        net.train()
        acc_loss = acc_hit = 0
        for rows in torch.randperm(TRAIN).split(batch_size):
            out = net(x[rows])
            loss = nn.functional.cross_entropy(out, y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc_loss += loss.item() * len(rows)
            acc_hit += (out.argmax(1) == y[rows]).sum().item()
        sched.step()
        net.eval()
        with torch.no_grad():
            out = net(xv)
            vloss, vacc = nn.functional.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()
        if epoch % 4 == 0 or epoch == 1:
            print(f"epoch {epoch:3d}: loss={acc_loss / TRAIN:.4f} acc={acc_hit / TRAIN:.3f} val_loss={vloss:.4f} val_acc={vacc:.3f}")


main()
