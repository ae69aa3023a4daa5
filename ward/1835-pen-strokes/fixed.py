"""A recurrent latent variable model of pen strokes, with a learned prior for every time step."""
import torch
import torch.nn as nn

torch.manual_seed(14)
SEQUENCES, TIME, FEATURES, LATENT, HIDDEN = 320, 12, 4, 6, 32
phase = torch.rand(SEQUENCES, 1) * 6.28
clock = torch.linspace(0, 4, TIME)[None]
strokes = torch.stack([torch.sin(clock + phase), torch.cos(clock + phase), torch.sin(2 * clock + phase), clock.expand(SEQUENCES, -1) / 4], -1)
strokes = strokes + 0.05 * torch.randn_like(strokes)


class StrokeModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(FEATURES + HIDDEN, HIDDEN), nn.ReLU())
        self.encode_mean = nn.Linear(HIDDEN, LATENT)
        self.encode_std = nn.Sequential(nn.Linear(HIDDEN, LATENT), nn.Softplus())
        self.prior = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.prior_mean = nn.Linear(HIDDEN, LATENT)
        self.prior_std = nn.Sequential(nn.Linear(HIDDEN, LATENT), nn.Softplus())
        self.decode = nn.Sequential(nn.Linear(LATENT + HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, FEATURES))
        self.cell = nn.GRUCell(FEATURES + LATENT, HIDDEN)

    def divergence(self, mean, std, prior_mean, prior_std):
        shift = (std.pow(2) + (mean - prior_mean).pow(2)) / prior_std.pow(2)
        return 0.5 * (2 * torch.log(prior_std) - 2 * torch.log(std) + shift - 1).sum(-1)

    def forward(self, x):
        h = x.new_zeros(len(x), HIDDEN)
        kl, error = 0.0, 0.0
        for t in range(x.shape[1]):
            e = self.encode(torch.cat([x[:, t], h], -1))
            mean, std = self.encode_mean(e), self.encode_std(e)
            p = self.prior(h)
            z = mean + std * torch.randn_like(std)
            kl = kl + self.divergence(mean, std, self.prior_mean(p), self.prior_std(p)).mean()
            error = error + (self.decode(torch.cat([z, h], -1)) - x[:, t]).pow(2).sum(-1).mean()
            h = self.cell(torch.cat([x[:, t], z], -1), h)
        return kl, error


model = StrokeModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for batch in strokes[torch.randperm(SEQUENCES)].split(32):
        kl, error = model(batch)
        loss = error + 0.1 * kl
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
    print(f"epoch {epoch}: reconstruction {error.item():.3f}, divergence {kl.item():.3f}")
