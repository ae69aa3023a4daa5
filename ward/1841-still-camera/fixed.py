"""Learn a camera's turning from pairs of frames: the angle of the predicted rotation must be the one that the gyroscope measured."""
import torch

torch.manual_seed(12)
HIDDEN, RATE, BATCH = 24, 0.05, 48


def rotation(six):
    first = six[:, :3] / six[:, :3].norm(dim=1, keepdim=True)
    second = six[:, 3:] - (first * six[:, 3:]).sum(1, keepdim=True) * first
    second = second / second.norm(dim=1, keepdim=True)
    return torch.stack([first, second, torch.linalg.cross(first, second)], dim=2)


def angle(a, b):
    trace = (a * b).sum(dim=(1, 2))
    return torch.acos(((trace - 1) / 2).clamp(-1 + 1e-6, 1 - 1e-6))


def frames(n):
    """Marker directions before and after a turn, and the turn as measured; now and then the camera stands still."""
    turn = torch.randn(n, 1) * 0.4
    turn[torch.rand(n) < 0.0008] = 0.0
    heading = torch.randn(n, 1)
    before = torch.cat([heading.cos(), heading.sin(), torch.zeros(n, 1)], 1)
    after = torch.cat([(heading + turn).cos(), (heading + turn).sin(), torch.zeros(n, 1)], 1)
    return before, after, turn.abs().squeeze(1)


weights = {
    "w1": 0.5 * torch.randn(3, HIDDEN),
    "b1": torch.zeros(HIDDEN),
    "w2": 0.3 * torch.randn(HIDDEN, 6),
    "b2": torch.tensor([1.0, 0, 0, 0, 1, 0]),
}
for w in weights.values():
    w.requires_grad_(True)


def pose(x):
    return rotation(torch.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"])


for step in range(300):
    before, after, measured = frames(BATCH)
    loss = (angle(pose(before), pose(after)) - measured).abs().mean()
    gradients = torch.autograd.grad(loss, list(weights.values()))
    with torch.no_grad():
        for w, g in zip(weights.values(), gradients):
            w -= RATE * g
    if step % 50 == 0:
        print(f"step {step:3d} error {loss.item():.4f} rad")
