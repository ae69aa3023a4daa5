"""Behaviour cloning: copy the autopilot of a lander from its flight recorder."""
import torch
from torch import nn


class FlightRecorder:
    """Draws states of descents and the command that the autopilot gave in them."""
    commands = ("coast", "burn", "tilt left", "tilt right")

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def sample(self, n):
        altitude = torch.rand(n, generator=self.g) * 4800 + 200                 # m
        sink = torch.rand(n, generator=self.g) * 140                            # m/s
        fuel = 8000 * torch.rand(n, generator=self.g).sqrt()                    # kg
        tilt = 0.06 * torch.randn(n, generator=self.g)                          # rad
        spin = 0.01 * torch.randn(n, generator=self.g)                          # rad/s
        state = torch.stack([altitude, sink, fuel, tilt, spin], dim=1)
        ahead = tilt + 4 * spin
        brake = sink ** 2 / (2 * altitude) > 1.62 * (1 + fuel / 16000)
        command = torch.where(brake, 1, 0)
        command = torch.where(ahead > 0.05, 2, command)
        command = torch.where(ahead < -0.05, 3, command)
        return state, command


class Policy(nn.Module):
    def __init__(self, n_state=5, n_command=4, width=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_state, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, n_command),
        )

    def forward(self, state):
        return self.net(state)


def clone(steps=400, batch=64, lr=5e-3):
    torch.manual_seed(17)
    recorder, check = FlightRecorder(seed=1), FlightRecorder(seed=2)
    state_check, command_check = check.sample(800)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=lr)
    average = None
    for step in range(1, steps + 1):
        policy.train()
        state, command = recorder.sample(batch)
        loss = nn.functional.cross_entropy(policy(state), command)
        opt.zero_grad()
        loss.backward()
        opt.step()
        average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
        if step % 50 == 0:
            policy.eval()
            with torch.no_grad():
                out = policy(state_check)
                val = nn.functional.cross_entropy(out, command_check).item()
                agree = (out.argmax(1) == command_check).float().mean().item()
            print(f"step {step:3d} | loss {average:.4f} | held-out loss {val:.4f} | agrees with autopilot {agree:.3f}")
    return policy


if __name__ == "__main__":
    clone()
