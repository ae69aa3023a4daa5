# Spoken keywords (6 words) from small log-mel patches.
# Few recordings, so every clip also goes in with a pitch shift and with background noise.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = ["yes", "no", "left", "right", "stop", "go"]
MELS, FRAMES = 16, 20


def record(n, rng):
    """Each word is a path of two formants over time."""
    word = rng.integers(0, len(WORDS), n)
    f = np.arange(MELS)[:, None]
    t = np.linspace(0, 1, FRAMES)[None, :]
    clips = np.empty((n, MELS, FRAMES), dtype=np.float32)
    starts = np.array([[3, 12], [10, 4], [5, 8], [12, 13], [2, 6], [8, 14]])
    ends = np.array([[9, 12], [4, 9], [12, 3], [6, 9], [7, 2], [3, 8]])
    for i, w in enumerate(word):
        jitter = rng.normal(0, 0.8, 2)
        a = starts[w, 0] + jitter[0] + (ends[w, 0] - starts[w, 0]) * t
        b = starts[w, 1] + jitter[1] + (ends[w, 1] - starts[w, 1]) * t
        clips[i] = np.exp(-(f - a) ** 2 / 3) + np.exp(-(f - b) ** 2 / 3) + rng.normal(0, 0.35, (MELS, FRAMES))
    return clips, word


def pitch_shift(clips, rng):
    return np.stack([np.roll(c, rng.choice([-1, 1]), axis=0) for c in clips])


def add_noise(clips, rng):
    return clips + rng.normal(0, 0.3, clips.shape).astype(np.float32)


def augment(clips, words, rng):
    x = np.concatenate([clips, pitch_shift(clips, rng), add_noise(clips, rng)])
    y = np.tile(words, 3)
    return x, y


def to_tensors(x, y):
    return (torch.from_numpy(x).unsqueeze(1) - 0.35) / 0.5, torch.from_numpy(y)


class KeywordCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.out = nn.Linear(24 * 4 * 5, len(WORDS))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.out(x.flatten(1))


rng = np.random.default_rng(21)
torch.manual_seed(21)
x_train, y_train = to_tensors(*augment(*record(450, rng), rng))
x_val, y_val = to_tensors(*record(300, rng))
print("train clips", tuple(x_train.shape), "label counts", torch.bincount(y_train).tolist())

net = KeywordCNN()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    net.train()
    running, right = 0.0, 0
    for idx in torch.randperm(len(x_train)).split(27):
        logits = net(x_train[idx])
        loss = F.cross_entropy(logits, y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(idx)
        right += (logits.argmax(1) == y_train[idx]).sum().item()
    net.eval()
    with torch.no_grad():
        logits = net(x_val)
        vl = F.cross_entropy(logits, y_val).item()
        va = (logits.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1} | loss {running / len(x_train):.3f} acc {right / len(x_train):.3f} | val loss {vl:.3f} val acc {va:.3f}")
