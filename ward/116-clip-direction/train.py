"""Which way does the blob move? Per-frame CNN features, GRU over the frames."""
import torch
from torch import nn
import torch.nn.functional as F


def make_clips(n, frames=5, size=10):
    d = torch.randint(0, 4, (n,))
    step = torch.tensor([[0., 1.], [0., -1.], [1., 0.], [-1., 0.]])[d] * (0.8 + 0.4 * torch.rand(n, 1))
    mid = 3.5 + 2 * torch.rand(n, 2)
    t = torch.arange(frames) - (frames - 1) / 2
    pos = mid[:, None] + t[None, :, None] * step[:, None]
    grid = torch.arange(size, dtype=torch.float32)
    gy = torch.exp(-(grid - pos[..., :1]) ** 2 / 2)
    gx = torch.exp(-(grid - pos[..., 1:]) ** 2 / 2)
    clips = gy[..., :, None] * gx[..., None, :] + 0.15 * torch.randn(n, frames, size, size)
    return clips.unsqueeze(2), d


class FrameEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(6 * 25, dim)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class ClipModel(nn.Module):
    def __init__(self, dim=3, hidden=16):
        super().__init__()
        self.encoder = FrameEncoder(dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 4)

    def forward(self, clips):
        b, t = clips.shape[:2]
        with torch.no_grad():
            feats = self.encoder(clips.flatten(0, 1))
        _, h = self.gru(feats.view(b, t, -1))
        return self.head(h[-1])


def main():
    torch.manual_seed(13)
    x, y = make_clips(2000)
    xv, yv = make_clips(500)
    model = ClipModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y)).split(100):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch}  loss {total / len(y):.4f}  val loss {F.cross_entropy(out, yv).item():.4f}  "
              f"val acc {(out.argmax(1) == yv).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
