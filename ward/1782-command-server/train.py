import random
import re

import torch
import torch.nn as nn

random.seed(4)
torch.manual_seed(4)
MAX_LEN = 16

PATTERNS = {
    "on": ["Turn on the {thing} in the {room}.", "Switch the {room} {thing} on, please!", "{Thing} on in the {room}"],
    "off": ["Turn off the {thing} in the {room}.", "Switch the {room} {thing} off, please!", "{Thing} off in the {room}"],
    "more": ["Make the {room} {thing} brighter.", "Turn the {thing} up a bit", "{Thing} up in the {room}!"],
    "less": ["Make the {room} {thing} dimmer.", "Turn the {thing} down a bit", "{Thing} down in the {room}!"],
    "ask": ["Is the {room} {thing} on?", "What is the {thing} doing in the {room}?", "Did I switch the {thing} off?"],
}
THINGS = ["lamp", "heater", "fan", "radio", "TV", "blind", "kettle"]
ROOMS = ["kitchen", "bedroom", "hall", "office", "garage", "bathroom"]
OPENERS = ["Hey house,", "OK,", "Please", "Um,", "Could you...", ""]
CLOSERS = ["now", "thanks", "before I leave", "for tonight", "", ""]
LABELS = list(PATTERNS)


def sentence():
    label = random.randrange(len(LABELS))
    thing = random.choice(THINGS)
    body = random.choice(PATTERNS[LABELS[label]]).format(thing=thing, Thing=thing.capitalize(), room=random.choice(ROOMS))
    return f"{random.choice(OPENERS)} {body} {random.choice(CLOSERS)}".strip(), label


def tokens(text):
    return re.findall(r"[a-z]+|[?!.]", text.lower())


def encode(text, vocab):
    ids = [vocab.get(t, 1) for t in tokens(text)][:MAX_LEN]
    return [0] * (MAX_LEN - len(ids)) + ids


class CommandNet(nn.Module):
    def __init__(self, n_words, n_labels):
        super().__init__()
        self.embed = nn.Embedding(n_words, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, 48, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(48, n_labels)

    def forward(self, x):
        _, (h, _) = self.lstm(self.embed(x))
        return self.out(self.drop(h[-1]))


class Server:
    """What runs on the hub in the living room."""

    def __init__(self, model, vocab):
        self.model, self.vocab = model.eval(), vocab

    def handle(self, text):
        ids = [self.vocab.get(t, 1) for t in text.split()][:MAX_LEN]
        x = torch.tensor([[0] * (MAX_LEN - len(ids)) + ids])
        with torch.no_grad():
            return LABELS[self.model(x).argmax().item()]


def main():
    rows = [sentence() for _ in range(3000)]
    train, test = rows[:2400], rows[2400:]
    vocab = {w: i + 2 for i, w in enumerate(sorted({t for text, _ in train for t in tokens(text)}))}
    x, y = torch.tensor([encode(t, vocab) for t, _ in train]), torch.tensor([l for _, l in train])
    xt, yt = torch.tensor([encode(t, vocab) for t, _ in test]), torch.tensor([l for _, l in test])

    model = CommandNet(len(vocab) + 2, len(LABELS))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
    for epoch in range(8):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(32):
            loss = nn.functional.cross_entropy(model(x[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        sched.step()
        model.eval()
        with torch.no_grad():
            out = model(xt)
        print(f"epoch {epoch + 1} train {total / len(y):.4f} test {nn.functional.cross_entropy(out, yt):.4f} "
              f"acc {(out.argmax(1) == yt).float().mean():.3f}")

    server = Server(model, vocab)
    good = sum(server.handle(text) == LABELS[label] for text, label in test)
    print(f"replayed {len(test)} sentences on the server: {good / len(test):.3f} answered as labelled")


if __name__ == "__main__":
    main()
