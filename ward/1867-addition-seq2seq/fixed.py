"""Learn to add: read "27+45" character by character and write "72" (GRU encoder-decoder)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

HP = {"hidden": 96, "emb": 24, "batch": 64, "lr": 3e-3, "epochs": 24, "train": 4000, "val": 500, "seed": 1}
SYMBOLS = "0123456789+ ^"
IDX = {c: i for i, c in enumerate(SYMBOLS)}
IN_LEN, OUT_LEN = 5, 3


def encode(s):
    return [IDX[c] for c in s]


def make_pairs(n_train, n_val):
    """All sums of two numbers below 100 exist once; train and validation share none of them."""
    pairs = torch.randperm(10000)[:n_train + n_val]
    questions, answers = [], []
    for p in pairs.tolist():
        a, b = divmod(p, 100)
        questions.append(encode(f"{a}+{b}".ljust(IN_LEN)))
        answers.append(encode(str(a + b)[::-1].ljust(OUT_LEN)))
    q, a = torch.tensor(questions), torch.tensor(answers)
    return (q[:n_train], a[:n_train]), (q[n_train:], a[n_train:])


class Encoder(nn.Module):
    def __init__(self, emb, hidden):
        super().__init__()
        self.embed = nn.Embedding(len(SYMBOLS), emb)
        self.rnn = nn.GRU(emb, hidden, batch_first=True)

    def forward(self, q):
        return self.rnn(self.embed(q))[1]


class Decoder(nn.Module):
    def __init__(self, emb, hidden):
        super().__init__()
        self.embed = nn.Embedding(len(SYMBOLS), emb)
        self.rnn = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(SYMBOLS))

    def forward(self, tokens, state):
        h, state = self.rnn(self.embed(tokens), state)
        return self.out(h), state


def teacher_forced_loss(enc, dec, q, a):
    start = torch.full((len(a), 1), IDX["^"])
    logits, _ = dec(torch.cat([start, a[:, :-1]], 1), enc(q))
    return F.cross_entropy(logits.flatten(0, 1), a.flatten())


@torch.no_grad()
def exact_match(enc, dec, q, a):
    state, token, out = enc(q), torch.full((len(q), 1), IDX["^"]), []
    for _ in range(OUT_LEN):
        logits, state = dec(token, state)
        token = logits.argmax(-1)
        out.append(token)
    return (torch.cat(out, 1) == a).all(1).float().mean().item()


torch.manual_seed(HP["seed"])
(q_tr, a_tr), (q_va, a_va) = make_pairs(HP["train"], HP["val"])
enc, dec = Encoder(HP["emb"], HP["hidden"]), Decoder(HP["emb"], HP["hidden"])
optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=HP["lr"])

for epoch in range(HP["epochs"]):
    enc.train(), dec.train()
    total = 0.0
    for i, b in enumerate(torch.randperm(len(q_tr)).split(HP["batch"])):
        loss = teacher_forced_loss(enc, dec, q_tr[b], a_tr[b])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*enc.parameters(), *dec.parameters()], 5.0)
        optimizer.step()
        total += loss.item() * len(b)
        if epoch < 2 and i % 20 == 0:
            print(f"  batch {i:3d} loss {loss.item():.4f}")
    enc.eval(), dec.eval()
    with torch.no_grad():
        val = teacher_forced_loss(enc, dec, q_va, a_va).item()
    print(f"epoch {epoch + 1:2d} train {total / len(q_tr):.4f} val {val:.4f} exact {exact_match(enc, dec, q_va, a_va):.3f}")
