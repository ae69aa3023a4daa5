import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "seed": 3,
    "epochs": 16,
    "batch_size": 64,
    "lr": 1e-3,
    "hidden": (96, 96, 48),
    "amp_dtype": torch.float16,
}


def build(n_in, cfg):
    layers, width = [], n_in
    for h in cfg["hidden"]:
        layers += [nn.Linear(width, h), nn.SiLU()]
        width = h
    return nn.Sequential(*layers, nn.Linear(width, 1))


def load(n=4000):
    """Standardised molecular descriptors and the aqueous solubility (log10 mol/l)."""
    X = torch.randn(n, 16)
    size, polar, rings = X[:, 0], X[:, 1], X[:, 2]
    log_s = -2.8 - 1.1 * size + 0.8 * polar - 0.5 * torch.relu(size * rings) + 0.7 * torch.tanh(X[:, 3] - X[:, 4]) \
        + 0.4 * X[:, 5] * X[:, 6] + 0.2 * torch.randn(n)
    return X[:3200], log_s[:3200], X[3200:], log_s[3200:]


def train_step(net, opt, scaler, x, y, cfg):
    with torch.autocast("cpu", dtype=cfg["amp_dtype"]):
        loss = F.mse_loss(net(x).squeeze(1), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    X, y, X_val, y_val = load()
    net = build(X.shape[1], cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    scaler = torch.amp.GradScaler("cpu")
    for epoch in range(1, cfg["epochs"] + 1):
        net.train()
        losses = [train_step(net, opt, scaler, X[b], y[b], cfg) for b in torch.randperm(len(X)).split(cfg["batch_size"])]
        net.eval()
        with torch.no_grad():
            val = F.mse_loss(net(X_val).squeeze(1), y_val).item()
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d} train mse {sum(losses) / len(losses):.4f} val mse {val:.4f}")


main(CONFIG)
