import argparse

import numpy as np
import torch


def leaves(n, rng):
    length = rng.uniform(-1, 1, n)
    light = rng.uniform(-1, 1, n)
    width = np.sin(2.5 * length) + 0.5 * light * length + rng.normal(0, 0.05, n)
    x = np.stack([length, light, length * light], 1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(width, dtype=torch.float32).unsqueeze(1)


def build(width):
    return torch.nn.Sequential(
        torch.nn.Linear(3, width), torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.SiLU(), torch.nn.Linear(width, 1)
    )


def optimizers(model, lr, decay):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() >= 1]
    return [
        torch.optim.SGD(matrices, lr=lr, momentum=0.9, weight_decay=decay),
        torch.optim.SGD(others, lr=lr, momentum=0.9),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=0.42)
    parser.add_argument("--decay", type=float, default=1e-5)
    args = parser.parse_args()
    torch.manual_seed(11)
    rng = np.random.default_rng(11)
    x, y = leaves(1024, rng)
    vx, vy = leaves(512, rng)
    model = build(64)
    opts = optimizers(model, args.lr, args.decay)
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (64,))
        loss = torch.nn.functional.mse_loss(model(x[rows]), y[rows])
        for opt in opts:
            opt.zero_grad(set_to_none=True)
        loss.backward()
        for opt in opts:
            opt.step()
        if step % 40 == 39:
            with torch.no_grad():
                print(f"{step + 1:4d}  train {loss.item():.5f}  val {torch.nn.functional.mse_loss(model(vx), vy).item():.5f}")


if __name__ == "__main__":
    main()
