"""A little transformer encoder which says whether a row of dominoes is laid in rising order at its ends."""
import torch
import torch.nn as nn

VOCAB, LENGTH, DIM = 12, 10, 32


class RowReader(nn.Module):
    def __init__(self, layers=1, heads=4):
        super().__init__()
        self.tok_emb = nn.Embedding(VOCAB, DIM)
        self.pos_emb = nn.Parameter(0.5 * torch.randn(1, LENGTH, DIM))
        layer = nn.TransformerEncoderLayer(DIM, heads, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, 3)

    def forward(self, ids):
        x = self.tok_emb(ids)
        x = self.encoder(x)
        return self.head(self.norm(x.mean(dim=1)))


def batches(n_steps, size, g):
    for _ in range(n_steps):
        ids = torch.randint(0, VOCAB, (size, LENGTH), generator=g)
        first, last = ids[:, :2].sum(1), ids[:, -2:].sum(1)
        label = torch.where(first < last - 2, 0, torch.where(first > last + 2, 2, 1))
        yield ids, label


def main():
    torch.manual_seed(8)
    g = torch.Generator().manual_seed(8)
    test_ids, test_label = next(batches(1, 1000, torch.Generator().manual_seed(99)))
    majority = test_label.bincount().max().item() / len(test_label)
    print(f"share of the largest class {majority:.3f}")

    model = RowReader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss()
    smooth = None
    for step, (ids, label) in enumerate(batches(300, 48, g), start=1):
        model.train()
        loss = criterion(model(ids), label)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if step % 50 == 0:
            model.eval()
            with torch.no_grad():
                acc = (model(test_ids).argmax(1) == test_label).float().mean().item()
            print(f"step {step:4d} | loss {smooth:.4f} | test accuracy {acc:.3f}")


main()
