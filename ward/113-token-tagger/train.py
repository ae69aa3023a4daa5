import torch
import torch.nn as nn

torch.manual_seed(19)
VOCAB, LENGTH, TAGS = 30, 14, 3


def sentences(n):
    """A token's tag: 0 plain, 1 if the token before it is a determiner (< 6), 2 if the token after it is a verb (> 24)."""
    x = torch.randint(0, VOCAB, (n, LENGTH))
    tags = torch.zeros_like(x)
    tags[:, :-1][x[:, 1:] > 24] = 2
    tags[:, 1:][x[:, :-1] < 6] = 1
    return x, tags


class Tagger(nn.Module):
    def __init__(self, dim=12, hidden=16):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, hidden, bidirectional=True, batch_first=True)
        self.classifier = nn.Linear(2 * hidden, TAGS)

    def forward(self, x):
        states, _ = self.rnn(self.embedding(x))
        return self.classifier(states)


x_train, t_train = sentences(1600)
x_val, t_val = sentences(300)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.classifier.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
print("parameters:", sum(p.numel() for p in tagger.parameters()))

for epoch in range(1, 7):
    tagger.train()
    losses = []
    for batch in torch.randperm(len(x_train)).split(64):
        scores = tagger(x_train[batch])
        loss = criterion(scores.reshape(-1, TAGS), t_train[batch].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tagger.eval()
    with torch.no_grad():
        scores = tagger(x_val)
        val_loss = criterion(scores.reshape(-1, TAGS), t_val.reshape(-1)).item()
        val_acc = (scores.argmax(-1) == t_val).float().mean().item()
    print(f"epoch {epoch}: train {sum(losses) / len(losses):.4f}, val {val_loss:.4f}, token accuracy {val_acc:.3f}")
