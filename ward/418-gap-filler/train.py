import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS, LENGTH, BLANK = 10, 18, 10
torch.manual_seed(10)


def sequences(n):
    """counting sequences with a random start and stride 1 or 3"""
    start = torch.randint(SYMBOLS, (n, 1))
    stride = torch.tensor([1, 3])[torch.randint(2, (n, 1))]
    return (start + stride * torch.arange(LENGTH)) % SYMBOLS


def hide(seq, share=0.3):
    hidden = torch.rand(seq.shape) < share
    return torch.where(hidden, torch.full_like(seq, BLANK), seq), hidden


class Filler(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.symbol = nn.Embedding(SYMBOLS + 1, d)
        self.gru = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, SYMBOLS)

    def forward(self, seq):
        return self.out(self.gru(self.symbol(seq))[0])


def masked_loss(logits, seq, hidden):
    per_token = F.cross_entropy(logits.transpose(1, 2), seq, reduction="none")
    per_seq = (per_token * hidden).sum(1) / hidden.sum(1)
    return per_seq.mean()


model = Filler()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
check = sequences(300)
check_in, check_hidden = hide(check)

for step in range(1, 161):
    model.train()
    seq = sequences(24)
    masked, hidden = hide(seq)
    loss = masked_loss(model(masked), seq, hidden)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0 or step == 1:
        model.eval()
        with torch.no_grad():
            guess = model(check_in).argmax(-1)
            filled = (guess == check)[check_hidden].float().mean().item()
        print(f"step {step:3d} loss {loss.item():.4f} gaps filled right {filled:.3f}")
