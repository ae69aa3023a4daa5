"""Support tickets -> department, a small transformer encoder. Settings follow the usual recipe for text classifiers."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEPARTMENTS = {
    "billing": "invoice refund charge card payment twice amount receipt",
    "network": "router wifi slow outage cable signal drops speed",
    "account": "password login locked email reset username profile verify",
    "hardware": "screen battery charger broken keyboard noise fan replace",
    "delivery": "parcel courier late address tracking lost shipment doorstep",
}
FILLER = ("hello please help my i the is not since yesterday again could you it was and with have a problem thanks team still after "
          "today when try works never always new old first order month week").split()
LABELS = list(DEPARTMENTS)
VOCAB = {w: i + 1 for i, w in enumerate(sorted(set(FILLER + " ".join(DEPARTMENTS.values()).split())))}
MAX_LEN = 20


class Tickets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        pick = lambda words: words[int(torch.randint(len(words), (1,), generator=g))]
        self.items = []
        for _ in range(n):
            label = int(torch.randint(len(LABELS), (1,), generator=g))
            length = int(torch.randint(10, MAX_LEN + 1, (1,), generator=g))
            words = [pick(FILLER) for _ in range(length)]
            for _ in range(3):
                words[int(torch.randint(length, (1,), generator=g))] = pick(DEPARTMENTS[LABELS[label]].split())
            other = LABELS[int(torch.randint(len(LABELS), (1,), generator=g))]
            words[int(torch.randint(length, (1,), generator=g))] = pick(DEPARTMENTS[other].split())
            ids = torch.zeros(MAX_LEN, dtype=torch.long)
            ids[:length] = torch.tensor([VOCAB[w] for w in words])
            self.items.append((ids, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class TicketEncoder(nn.Module):
    def __init__(self, d=48, heads=4, layers=2):
        super().__init__()
        self.words = nn.Embedding(len(VOCAB) + 1, d, padding_idx=0)
        self.places = nn.Parameter(0.02 * torch.randn(MAX_LEN, d))
        layer = nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.classifier = nn.Linear(d, len(LABELS))

    def forward(self, ids):
        pad = ids == 0
        h = self.norm(self.encoder(self.words(ids) + self.places, src_key_padding_mask=pad))
        keep = (~pad).unsqueeze(-1).float()
        return self.classifier((h * keep).sum(1) / keep.sum(1))


training_args = dict(learning_rate=2e-3, weight_decay=0.01, num_train_epochs=4, per_device_batch_size=24, logging_steps=20)

torch.manual_seed(77)
train_loader = DataLoader(Tickets(960, 1), batch_size=training_args["per_device_batch_size"], shuffle=True)
eval_loader = DataLoader(Tickets(240, 2), batch_size=120)
model = TicketEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=training_args["learning_rate"], weight_decay=training_args["weight_decay"])
loss_fn = nn.CrossEntropyLoss()

step = 0
for epoch in range(training_args["num_train_epochs"]):
    model.train()
    window = []
    for ids, label in train_loader:
        loss = loss_fn(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        step += 1
        window.append(loss.item())
        if step % training_args["logging_steps"] == 0:
            print({"step": step, "loss": round(sum(window) / len(window), 4), "epoch": round(step / len(train_loader), 2)})
            window = []
    model.eval()
    with torch.no_grad():
        outs = [(model(ids), label) for ids, label in eval_loader]
        eval_loss = sum(loss_fn(o, l).item() for o, l in outs) / len(outs)
        eval_acc = torch.cat([o.argmax(1) == l for o, l in outs]).float().mean().item()
    print({"eval_loss": round(eval_loss, 4), "eval_accuracy": round(eval_acc, 4), "epoch": epoch + 1})
