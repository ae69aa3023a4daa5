# Multi-label tagging of support tickets: bag of words -> several tags per ticket.
# Port of an old TF1 model (same layer sizes).
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score

np.random.seed(8)
torch.manual_seed(8)

TOPIC_WORDS = {
    "billing": "invoice charge refund card payment tax receipt vat price discount",
    "login": "password reset login locked account token email sso code expired",
    "crash": "crash freeze error stacktrace restart exception hang version update log",
    "shipping": "parcel delivery courier address delay tracking box warehouse late order",
    "feature": "request wish dark mode export option button support integration csv",
    "network": "timeout vpn proxy dns wifi slow disconnect latency port firewall",
}
FILLER = "hello please the my it is when since yesterday can you help thanks again still not team with and for".split()
TAGS = list(TOPIC_WORDS)
WORDS = {t: w.split() for t, w in TOPIC_WORDS.items()}
VOCAB = {w: i for i, w in enumerate(sorted(set(FILLER + sum(WORDS.values(), []))))}


def ticket():
    k = np.random.choice([1, 2, 3], p=[0.55, 0.35, 0.1])
    tags = np.random.choice(len(TAGS), k, replace=False)
    words = list(np.random.choice(FILLER, np.random.randint(4, 12)))
    for t in tags:
        words += list(np.random.choice(WORDS[TAGS[t]], np.random.randint(1, 4)))
    if np.random.rand() < 0.4:  # a word of some other topic
        words.append(np.random.choice(WORDS[np.random.choice(TAGS)]))
    x = np.zeros(len(VOCAB), dtype=np.float32)
    for w in words:
        x[VOCAB[w]] += 1
    y = np.zeros(len(TAGS), dtype=np.float32)
    y[tags] = 1
    return x, y


data = [ticket() for _ in range(5000)]
X = torch.from_numpy(np.stack([d[0] for d in data]))
Y = torch.from_numpy(np.stack([d[1] for d in data]))
X_tr, Y_tr, X_te, Y_te = X[:4000], Y[:4000], X[4000:], Y[4000:]


class TagNet(nn.Module):
    def __init__(self, drop=0.1):
        super().__init__()
        self.fc1 = nn.Linear(len(VOCAB), 48)
        self.fc2 = nn.Linear(48, 32)
        self.fc3 = nn.Linear(32, len(TAGS))
        self.dropout = nn.Dropout(drop)

    def forward(self, x):
        x = self.dropout(torch.relu(self.fc1(x)))
        x = self.dropout(torch.relu(self.fc2(x)))
        return self.fc3(x)


net = TagNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
BATCH = 32
for epoch in range(20):
    net.train()
    idx = np.random.permutation(len(X_tr))
    total = 0
    for s in range(0, len(idx), BATCH):
        b = idx[s:s + BATCH]
        opt.zero_grad()
        loss = bce(net(X_tr[b]), Y_tr[b])
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        logits = net(X_te)
    f1 = f1_score(Y_te.numpy(), (logits > 0).numpy(), average="macro", zero_division=0)
    print(f"Epoch {epoch + 1}/20 - loss: {total / len(idx):.4f} - val_loss: {bce(logits, Y_te).item():.4f} - val_f1: {f1:.4f}")
