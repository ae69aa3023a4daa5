"""Marks tokens that occur elsewhere in the same support ticket (copied phrases)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TicketBatcher:
    def __init__(self, vocab=24, length=10, seed=0):
        self.vocab, self.length = vocab, length
        self.g = torch.Generator().manual_seed(seed)

    def __call__(self, n):
        ids = torch.randint(0, self.vocab, (n, self.length), generator=self.g)
        same = ids.unsqueeze(2) == ids.unsqueeze(1)
        return ids, (same.sum(2) > 1).float()


class Tagger(nn.Module):
    def __init__(self, vocab, dim=48, layers=1):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 32, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 1)

    def forward(self, ids):
        x = self.embed(ids) + self.pos[:, :ids.shape[1]]
        return self.out(self.encoder(x)).squeeze(-1)


def fit(steps=320, batch=64, lr=2e-3):
    torch.manual_seed(52)
    stream, held_out = TicketBatcher(seed=1), TicketBatcher(seed=2)
    model = Tagger(stream.vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    log = []
    for step in range(1, steps + 1):
        ids, tags = stream(batch)
        model.train()
        loss = F.binary_cross_entropy_with_logits(model(ids), tags)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(loss.item())
        if step % 40 == 0:
            model.eval()
            ids, tags = held_out(300)
            with torch.no_grad():
                logits = model(ids)
            acc = ((logits > 0) == (tags > 0)).float().mean().item()
            base = max(tags.mean().item(), 1 - tags.mean().item())
            print(f"step {step:4d} loss {sum(log[-40:]) / 40:.4f} tag acc {acc:.3f} (majority {base:.3f})")
    return model


if __name__ == "__main__":
    fit()
