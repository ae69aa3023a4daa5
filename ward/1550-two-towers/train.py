"""Two towers that match products with their descriptions, trained on in-batch negatives."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
BATCH = 64


class Catalogue:
    """A product's picture features and its text features come from the same five hidden traits."""

    def __init__(self, n_img=40, n_txt=32, traits=5):
        self.to_img = torch.randn(traits, n_img) / traits ** 0.5
        self.to_txt = torch.randn(traits, n_txt) / traits ** 0.5
        self.traits = traits

    def sample(self, n):
        z = torch.randn(n, self.traits) * torch.exp(0.4 * torch.randn(n, 1))
        img = torch.relu(z @ self.to_img) + 0.15 * torch.randn(n, self.to_img.shape[1])
        txt = F.softplus(z @ self.to_txt) + 0.1 * torch.randn(n, self.to_txt.shape[1])
        return img, txt


class Tower(nn.Module):
    def __init__(self, n_in, dim=24, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.net(x)


def info_nce(a, b):
    scores = torch.exp(a @ b.T)
    return -torch.log(scores.diag() / scores.sum(dim=1)).mean()


def main():
    world = Catalogue()
    img, txt = world.sample(4000)
    img_val, txt_val = world.sample(500)
    img_tower, txt_tower = Tower(40), Tower(32)
    opt = torch.optim.Adam([*img_tower.parameters(), *txt_tower.parameters()], lr=8e-4)
    for epoch in range(1, 21):
        img_tower.train(), txt_tower.train()
        running = 0.0
        for b in torch.randperm(4000).split(BATCH):
            loss = info_nce(img_tower(img[b]), txt_tower(txt[b]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * len(b) / 4000
        img_tower.eval(), txt_tower.eval()
        with torch.no_grad():
            rank = (img_tower(img_val) @ txt_tower(txt_val).T).argsort(dim=1, descending=True)
        top1 = (rank[:, 0] == torch.arange(500)).float().mean()
        top5 = (rank[:, :5] == torch.arange(500).unsqueeze(1)).any(dim=1).float().mean()
        if epoch < 4 or epoch % 2 == 0:
            print(f"epoch {epoch:2d} loss {running:.4f} top-1 {top1:.3f} top-5 {top5:.3f}")


if __name__ == "__main__":
    main()
