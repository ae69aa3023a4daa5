"""Topic of forum posts (bag of embeddings). Options named as in the big training scripts."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--max_train_samples", type=int, default=4000)
    p.add_argument("--max_eval_samples", type=int, default=500)
    p.add_argument("--max_steps", type=int, default=400)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--learning_rate", type=float, default=2e-3)
    p.add_argument("--eval_steps", type=int, default=40)
    p.add_argument("--seed", type=int, default=23)
    return p.parse_args()


TOPICS = ["garden", "cycling", "cooking", "radio"]
VOCAB, PER_TOPIC = 700, 90


def corpus(n, rng):
    """A post has 25 words, about a quarter of them from its topic's own list, the lists overlap."""
    posts, labels = [], []
    for _ in range(n):
        k = rng.randrange(len(TOPICS))
        lo = k * 60
        posts.append([lo + rng.randrange(PER_TOPIC) if rng.random() < 0.24 else rng.randrange(VOCAB) for _ in range(25)])
        labels.append(k)
    return torch.tensor(posts), torch.tensor(labels)


class PostClassifier(nn.Module):
    def __init__(self, dim=64, hidden=64):
        super().__init__()
        self.embed = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.hidden = nn.Linear(dim, hidden)
        self.out = nn.Linear(hidden, len(TOPICS))
        nn.init.normal_(self.embed.weight, std=0.5)

    def forward(self, posts):
        return self.out(F.relu(self.hidden(self.embed(posts))))


def main():
    args = parse_args()
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    x, y = corpus(4000, rng)
    x_val, y_val = corpus(args.max_eval_samples, rng)
    x, y = x[:args.max_train_samples], y[:args.max_train_samples]

    model = PostClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    total = []
    queue = iter(())
    for step in range(1, args.max_steps + 1):
        idx = next(queue, None)
        if idx is None:
            queue = iter(torch.randperm(len(x)).split(args.batch_size))
            idx = next(queue)
        model.train()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total.append(loss.item())
        if step % args.eval_steps == 0:
            model.eval()
            with torch.no_grad():
                out = model(x_val)
            print(f"step {step}: train_loss={sum(total) / len(total):.4f} eval_loss={F.cross_entropy(out, y_val):.4f} eval_acc={(out.argmax(1) == y_val).float().mean():.3f}")
            total = []


if __name__ == "__main__":
    main()
