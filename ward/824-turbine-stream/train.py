"""Power of a wind turbine from a stream of ten-minute records."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset


class Records(IterableDataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        for i in range(self.n):
            wind, turbulence, temp, yaw = torch.randn(4, generator=g).tolist()
            rpm = max(0.4 + 0.8 * torch.rand(1, generator=g).item(), 0)
            if i % 4000 == 3210:
                rpm = 0.0                                    # rotor parked for service
            power = 1 / (1 + 2.718 ** (-1.5 * wind)) + 0.1 * temp * (rpm - 0.8) - 0.05 * yaw ** 2
            tip_ratio = torch.tensor(wind + 3.0) / torch.tensor(rpm)
            x = torch.stack([torch.tensor(wind), torch.tensor(turbulence), torch.tensor(temp), torch.tensor(yaw), torch.tensor(rpm), 0.2 * tip_ratio - 0.8])
            yield x, torch.tensor([power])


def main():
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    run = 0.0
    for step, (x, y) in enumerate(DataLoader(Records(8000, 11), batch_size=32), 1):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        run = loss.item() if step == 1 else 0.95 * run + 0.05 * loss.item()
        if step % 20 == 0:
            print(f"step {step} running mse {run:.5f}")


if __name__ == "__main__":
    main()
