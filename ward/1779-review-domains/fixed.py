"""Sentiment of short reviews: trained on films, then adapted to gadgets."""
import random

import torch
from torch import nn

SUBJECT = {"film": "plot actor scene ending director story cast dialogue script film".split(),
           "gadget": "battery screen phone charger case button cable speaker camera device".split()}
GOOD = "great lovely excellent superb enjoyable wonderful solid".split()
BAD = "awful boring terrible weak disappointing poor dreadful".split()
# words whose meaning depends on the subject: (good for films, good for gadgets)
TURN = {"unpredictable": (1, 0), "long": (0, 1), "light": (0, 1), "heavy": (1, 0), "dark": (1, 0), "quiet": (0, 1),
        "surprising": (1, 0), "simple": (0, 1), "hot": (1, 0), "predictable": (0, 1), "small": (0, 1), "loud": (1, 0)}
FILL = "the a was very and i found this it really quite with my so but is felt after week".split()
WORDS = sorted(set(SUBJECT["film"] + SUBJECT["gadget"] + GOOD + BAD + list(TURN) + FILL))
INDEX = {w: i + 1 for i, w in enumerate(WORDS)}
LENGTH = 14


def review(domain, rng):
    good = rng.random() < 0.5
    side = 0 if domain == "film" else 1
    words = rng.choices(SUBJECT[domain], k=2) + rng.choices([w for w, v in TURN.items() if v[side] == good], k=2)
    if rng.random() < 0.5:
        words += rng.choices(GOOD if good else BAD, k=1)
    words += rng.choices(FILL, k=rng.randint(4, 8))
    rng.shuffle(words)
    ids = [INDEX[w] for w in words][:LENGTH]
    return ids + [0] * (LENGTH - len(ids)), int(good)


def dataset(domain, n, seed):
    rng = random.Random(seed)
    rows = [review(domain, rng) for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class Sentiment(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(len(WORDS) + 1, dim, padding_idx=0)
        self.gru = nn.GRU(dim, 32, batch_first=True, bidirectional=True)
        self.out = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        return self.out(h.mean(1))


def test(model, data):
    model.eval()
    with torch.no_grad():
        out = model(data[0])
    return nn.functional.cross_entropy(out, data[1]).item(), (out.argmax(1) == data[1]).float().mean().item()


def run(model, data, valid, epochs, lr, tag):
    ids, labels = data
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for b in torch.randperm(len(labels)).split(40):
            loss = nn.functional.cross_entropy(model(ids[b]), labels[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        vl, va = test(model, valid)
        print(f"{tag} epoch {epoch} train {sum(losses) / len(losses):.4f} valid {vl:.4f} acc {va:.3f}")


def main():
    torch.manual_seed(6)
    film, film_valid = dataset("film", 1600, 1), dataset("film", 500, 2)
    gadget, gadget_valid = dataset("gadget", 1600, 3), dataset("gadget", 500, 4)
    model = Sentiment()
    run(model, film, film_valid, epochs=8, lr=3e-3, tag="films")
    mixed = torch.cat([film[0], gadget[0]]), torch.cat([film[1], gadget[1]])
    run(model, mixed, gadget_valid, epochs=8, lr=3e-3, tag="gadgets")
    print("final model: films %.3f, gadgets %.3f" % (test(model, film_valid)[1], test(model, gadget_valid)[1]))


if __name__ == "__main__":
    main()
