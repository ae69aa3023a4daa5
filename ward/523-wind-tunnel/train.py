import json

import torch
from torch import nn

CONFIG = json.loads("""
{"hidden": [64, 64, 64], "batch_norm": true, "lr": 0.005, "batch_size": 64, "epochs": 10, "samples": 2600, "seed": 23}
""")


def build_mlp(n_in, hidden, n_out, batch_norm):
    layers, prev = [], n_in
    for width in hidden:
        layers.append(nn.Linear(prev, width))
        if batch_norm:
            layers.append(nn.BatchNorm1d(width))
        prev = width
    layers.append(nn.Linear(prev, n_out))
    return nn.Sequential(*layers)


def wind_tunnel(n, gen):
    speed, angle, rough = torch.rand(3, n, generator=gen) * 2 - 1
    lift = speed ** 2 * torch.sin(2.5 * angle)
    drag = speed.abs() * (0.3 + angle ** 2) + 0.4 * rough * speed
    y = torch.stack([lift, drag], dim=1) + 0.02 * torch.randn(n, 2, generator=gen)
    x = torch.stack([speed, angle, rough], dim=1) * 1.73
    return x, (y - y.mean(0)) / y.std(0)


def main(cfg):
    torch.manual_seed(cfg["seed"])
    gen = torch.Generator().manual_seed(cfg["seed"])
    x, y = wind_tunnel(cfg["samples"], gen)
    n_train = cfg["samples"] - 600
    model = build_mlp(3, cfg["hidden"], 2, cfg["batch_norm"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg["epochs"], eta_min=cfg["lr"] / 20)
    for epoch in range(cfg["epochs"]):
        model.train()
        total, count = 0.0, 0
        for idx in torch.randperm(n_train, generator=gen).split(cfg["batch_size"]):
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total, count = total + loss.item(), count + 1
        sched.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x[n_train:]), y[n_train:]).item()
        print(json.dumps({"epoch": epoch, "train_mse": round(total / count, 4), "val_mse": round(val, 4)}))


if __name__ == "__main__":
    main(CONFIG)
