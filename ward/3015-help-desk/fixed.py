import random

import torch
from torch import nn

random.seed(1234)
torch.manual_seed(1234)

OPENERS = ["hello", "hi there", "good morning", "please help", "urgent", "dear team", "hey"]
PHRASES = {
    "billing": ["charged twice", "refund my invoice", "odd amount on the bill", "card was declined", "cancel the payment",
                "need a receipt for tax", "discount code not applied"],
    "login": ["forgot my password", "account is locked", "two factor code never arrives", "cannot sign in",
              "reset link expired", "email address changed", "captcha keeps failing"],
    "shipping": ["parcel never arrived", "tracking number is unknown", "box was damaged", "courier left it outside",
                 "delivery address must change", "order still in the warehouse", "customs holds the parcel"],
    "technical": ["app crashes on start", "screen stays black", "battery drains quickly", "update fails at half",
                  "no sound from the speaker", "sensor shows nothing", "printer not found"],
}
TAILS = ["thanks", "since monday", "what can i do", "again", "as soon as possible", "regards", "on my new phone"]
TOPICS = list(PHRASES)


def ticket():
    topic = random.randrange(len(TOPICS))
    words = random.choice(OPENERS).split() + random.choice(PHRASES[TOPICS[topic]]).split() + random.choice(TAILS).split()
    if random.random() < 0.5:
        words += random.choice(PHRASES[TOPICS[topic]]).split()
    return tuple(w for w in words if random.random() > 0.2), topic


tickets = list(dict(ticket() for _ in range(14000)).items())
random.shuffle(tickets)
train, dev = tickets[1500:], tickets[:1500]

vocab = {"<pad>": 0, "<unk>": 1}
for word in sorted(set(w for words, _ in train for w in words)):
    vocab[word] = len(vocab)
print("vocabulary:", len(vocab))


def batchify(rows):
    longest = max(1, max(len(words) for words, _ in rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, (words, _) in enumerate(rows):
        ids[i, :len(words)] = torch.tensor([vocab.get(w, 1) for w in words])
    return ids, torch.tensor([t for _, t in rows])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(vocab), 48, padding_idx=0)
        self.conv = nn.Conv1d(48, 48, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(48, len(TOPICS))

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        return self.out(self.drop(torch.relu(self.conv(x)).amax(2)))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    random.shuffle(train)
    losses = []
    for i in range(0, len(train), 40):
        ids, topics = batchify(train[i:i + 40])
        loss = nn.functional.cross_entropy(model(ids), topics)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        ids, topics = batchify(dev)
        out = model(ids)
    print(f"epoch {epoch + 1}: train {sum(losses) / len(losses):.6f}  dev {nn.functional.cross_entropy(out, topics).item():.6f}  "
          f"acc {(out.argmax(1) == topics).float().mean().item():.4f}")
