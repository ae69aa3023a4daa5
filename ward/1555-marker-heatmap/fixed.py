"""Find a marker in a picture: which of three shapes it is, and where."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
SIZE = 16
SHAPES = torch.tensor([[[1, 1, 1], [1, 0, 1], [1, 1, 1]], [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[1, 0, 1], [0, 1, 0], [1, 0, 1]]]).float()


def make_scenes(n):
    images = 0.3 * torch.rand(n, 1, SIZE, SIZE)
    kind = torch.randint(0, 3, (n,))
    centre = torch.randint(1, SIZE - 1, (n, 2))
    for i in range(n):
        r, c = centre[i].tolist()
        images[i, 0, r - 1:r + 2, c - 1:c + 2] += SHAPES[kind[i]] * (0.6 + 0.4 * torch.rand(1))
    return images, kind, centre.float() / (SIZE - 1)


class MarkerNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.kind = nn.Linear(ch, 3)
        self.heat = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1))

    def forward(self, x):
        f = self.trunk(x)
        heat = self.heat(f).flatten(1)
        peak = F.softmax(heat, dim=1).view(-1, SIZE, SIZE)
        axis = torch.linspace(0, 1, SIZE)
        where = torch.stack([(peak.sum(2) * axis).sum(1), (peak.sum(1) * axis).sum(1)], dim=1)
        return self.kind(f.amax(dim=(2, 3))), where


def main():
    x, kind, centre = make_scenes(1200)
    x_val, kind_val, centre_val = make_scenes(300)
    net = MarkerNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(1, 11):
        net.train()
        sums = torch.zeros(2)
        for b in torch.randperm(len(x)).split(40):
            logits, where = net(x[b])
            kind_loss = F.cross_entropy(logits, kind[b])
            where_loss = F.mse_loss(where, centre[b])
            loss = kind_loss + 5.0 * where_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            sums += torch.tensor([kind_loss.item(), where_loss.item()])
        net.eval()
        with torch.no_grad():
            logits, where = net(x_val)
        acc = (logits.argmax(1) == kind_val).float().mean()
        pixels = ((where - centre_val) * (SIZE - 1)).norm(dim=1).mean()
        print(f"epoch {epoch:2d} kind {sums[0] / 30:.4f} where {sums[1] / 30:.4f} | val acc {acc:.3f} error {pixels:.2f} px")


main()
