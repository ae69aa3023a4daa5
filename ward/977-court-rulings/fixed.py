import argparse

import torch
from torch import nn


def make_documents(n, words, topics, generator):
    favourite = torch.rand(topics, words, generator=generator) ** 4
    topic = torch.randint(0, topics, (n,), generator=generator)
    tokens = torch.stack([torch.multinomial(favourite[t], 24, replacement=True, generator=generator) for t in topic])
    return tokens, topic


class Bag(nn.Module):
    def __init__(self, words, topics, width):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width, mode="mean")
        self.body = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, topics)

    def forward(self, tokens):
        return self.out(self.body(self.words(tokens)))


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.loss = nn.CrossEntropyLoss()
        self.optim = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.decay)
        self.args = args

    def fit(self, train, valid):
        tokens, topic = train
        for epoch in range(self.args.epochs):
            self.model.train()
            for rows in torch.randperm(len(tokens)).split(self.args.batch):
                loss = self.loss(self.model(tokens[rows]), topic[rows])
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            print(f"[{epoch}] loss {loss.item():.3f} valid {self.accuracy(*valid):.3f}")

    @torch.no_grad()
    def accuracy(self, tokens, topic):
        self.model.eval()
        return (self.model(tokens).argmax(-1) == topic).float().mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=1e-5)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=50)
    args = parser.parse_args()
    torch.manual_seed(21)
    g = torch.Generator().manual_seed(3)
    tokens, topic = make_documents(1500, 300, 8, g)
    Trainer(Bag(300, 8, 32), args).fit((tokens[:1200], topic[:1200]), (tokens[1200:], topic[1200:]))
