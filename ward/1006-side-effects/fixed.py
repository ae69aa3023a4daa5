"""Tag words in patient reports that mention a side effect (BiLSTM tagger)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.nn.utils.rnn import pad_sequence

PAD, VOCAB = 0, 120
TAGS = {"O": 0, "EFFECT": 1}
IGNORE = -100

torch.manual_seed(31)
gen = torch.Generator().manual_seed(31)

# everyday words are spread over the whole vocabulary; words for complaints come mostly from 40 of them,
# but the same words turn up in harmless places just as well ("no headache since", "dizzy heights")
ordinary = torch.ones(VOCAB - 1)
complaints = torch.full((VOCAB - 1,), 0.08)
complaints[60:100] = 1.0


def write_report():
    length = int(torch.randint(8, 17, (1,), generator=gen))
    tags = (torch.rand(length, generator=gen) < 0.06).long()
    words_o = torch.multinomial(ordinary, length, replacement=True, generator=gen) + 1
    words_e = torch.multinomial(complaints, length, replacement=True, generator=gen) + 1
    return torch.where(tags == 1, words_e, words_o), tags


def collate(batch):
    words = pad_sequence([w for w, _ in batch], batch_first=True, padding_value=PAD)
    tags = pad_sequence([t for _, t in batch], batch_first=True, padding_value=IGNORE)
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.tag(h)


reports = [write_report() for _ in range(1800)]
heldout = [write_report() for _ in range(400)]
train_loader = DataLoader(reports, batch_size=50, shuffle=True, collate_fn=collate)
val_loader = DataLoader(heldout, batch_size=200, collate_fn=collate)

model = Tagger()
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.53, 8.3]), ignore_index=IGNORE)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)


def evaluate():
    model.eval()
    tp = fn = fp = right = total = 0
    with torch.no_grad():
        for words, tags in val_loader:
            pred = model(words).argmax(-1)
            seen = tags != IGNORE
            tp += ((pred == 1) & (tags == 1)).sum().item()
            fn += ((pred == 0) & (tags == 1)).sum().item()
            fp += ((pred == 1) & (tags == 0)).sum().item()
            right += ((pred == tags) & seen).sum().item()
            total += seen.sum().item()
    recall = tp / (tp + fn)
    specificity = 1 - fp / (total - tp - fn)
    return right / total, recall, (recall + specificity) / 2


for epoch in range(5):
    model.train()
    losses = []
    for words, tags in train_loader:
        optimizer.zero_grad()
        scores = model(words)
        loss = criterion(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    acc, recall, balanced = evaluate()
    print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f} | token acc {acc:.3f} | recall EFFECT {recall:.3f} | balanced acc {balanced:.3f}")
