import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)

# referring classification: a 6-cell "image" with one attribute vector per cell, and a phrase that says which cell is meant
CELLS, ATTR, WORDS = 6, 8, 12
VOCAB = 30
proto = torch.randn(4, ATTR)          # 4 object kinds
place_words = torch.randint(0, VOCAB, (CELLS, WORDS))


def make(n):
    kinds = torch.randint(0, 4, (n, CELLS))
    img = proto[kinds] + 0.4 * torch.randn(n, CELLS, ATTR)
    which = torch.randint(0, CELLS, (n,))
    words = place_words[which].clone()
    noise = torch.rand(n, WORDS) < 0.3
    words[noise] = torch.randint(0, VOCAB, (int(noise.sum()),))
    return img, words, kinds[torch.arange(n), which]


class LanguageGate(nn.Module):
    """x + gate(r) * r, starts as identity so that the visual stream is left alone at first"""

    def __init__(self, dim):
        super().__init__()
        self.res_gate = nn.Sequential(
            nn.Linear(dim, dim, bias=False),
            nn.ReLU(),
            nn.Linear(dim, dim, bias=False),
            nn.Tanh(),
        )
        nn.init.zeros_(self.res_gate[2].weight)

    def forward(self, x, r):
        return x + self.res_gate(r) * r


class RefNet(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.vis = nn.Linear(ATTR, dim)
        self.cell = nn.Parameter(0.5 * torch.randn(CELLS, dim))
        self.words = nn.Embedding(VOCAB, dim)
        self.key = nn.Linear(dim, dim)
        self.fuse = LanguageGate(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, img, words):
        v = self.vis(img)                                     # B, cells, dim
        lang = self.words(words).mean(1)                      # B, dim
        att = (self.key(lang).unsqueeze(1) * self.cell).sum(-1) / v.size(-1) ** 0.5
        r = (att.softmax(1).unsqueeze(-1) * v).sum(1)         # language-guided visual feature
        x = self.fuse(v.mean(1), 2 * r)
        return self.head(self.norm(x))


net = RefNet()
opt = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-4)
xi, xw, xy = make(6000)
vi, vw, vy = make(1000)
for epoch in range(6):
    net.train()
    perm = torch.randperm(len(xy))
    run = 0.0
    for b in perm.split(100):
        loss = F.cross_entropy(net(xi[b], xw[b]), xy[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
    net.eval()
    with torch.no_grad():
        out = net(vi, vw)
        print('epoch %d loss %.4f | val loss %.4f acc %.3f | gate %.4f' % (
            epoch, run / 60, F.cross_entropy(out, vy).item(), (out.argmax(1) == vy).float().mean().item(),
            net.fuse.res_gate[2].weight.abs().mean().item()))
