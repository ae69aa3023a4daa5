import torch
import torch.nn as nn
import torch.nn.functional as F

gen = torch.Generator().manual_seed(40)
PLAYERS, GAMES, RANK = 150, 80, 4


def ratings():
    taste = torch.randn(PLAYERS, RANK, generator=gen)
    style = torch.randn(GAMES, RANK, generator=gen)
    p = torch.randint(0, PLAYERS, (6000,), generator=gen)
    g = torch.randint(0, GAMES, (6000,), generator=gen)
    score = (taste[p] * style[g]).sum(1) / RANK ** 0.5 + 0.3 * torch.randn(6000, generator=gen)
    return p, g, score


class Factors(nn.Module):
    """Dot product of player and game vectors, plus biases; the loss is computed inside."""

    def __init__(self, dim=8):
        super().__init__()
        start_p = torch.randn(PLAYERS, dim, generator=gen) * 0.3
        start_g = torch.randn(GAMES, dim, generator=gen) * 0.3
        self.player = nn.Embedding.from_pretrained(start_p)
        self.game = nn.Embedding.from_pretrained(start_g)
        self.player_bias = nn.Embedding(PLAYERS, 1)
        self.game_bias = nn.Embedding(GAMES, 1)
        nn.init.zeros_(self.player_bias.weight)
        nn.init.zeros_(self.game_bias.weight)

    def forward(self, p, g, score=None):
        pred = (self.player(p) * self.game(g)).sum(1) + (self.player_bias(p) + self.game_bias(g)).squeeze(1)
        if score is None:
            return pred
        return F.mse_loss(pred, score)


class Fit:
    def __init__(self, model, lr=0.02):
        self.model = model
        self.optim = torch.optim.Adam(filter(lambda w: w.requires_grad, model.parameters()), lr=lr)

    def epoch(self, data, batch=128):
        order = torch.randperm(len(data[0]), generator=gen)
        losses = []
        for idx in order.split(batch):
            self.optim.zero_grad()
            loss = self.model(*(t[idx] for t in data))
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


p, g, s = ratings()
train, test = (p[:5000], g[:5000], s[:5000]), (p[5000:], g[5000:], s[5000:])
fit = Fit(Factors())
for epoch in range(8):
    tr = fit.epoch(train)
    with torch.no_grad():
        te = fit.model(*test).item()
    print(f"epoch {epoch}: train mse {tr:.4f}, test mse {te:.4f}")
