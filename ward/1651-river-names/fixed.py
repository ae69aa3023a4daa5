"""Guesses the language of a river's name, letter by letter."""
import random

import torch
from torch import nn

NAMES = {
    "welsh": "Teifi Tywi Dyfrdwy Conwy Mawddach Dwyryd Glaslyn Rheidol Ystwyth Aeron Wysg Ogwr Taf Llugwy Cleddau Efyrnwy",
    "finnish": "Kemijoki Oulujoki Kokemaenjoki Tornionjoki Vantaanjoki Aurajoki Simojoki Iijoki Lapuanjoki Kyronjoki Kiiminkijoki Siikajoki Pyhajoki Kalajoki Lestijoki Ounasjoki",
    "spanish": "Guadalquivir Manzanares Guadiana Jarama Segura Turia Tajo Duero Ebro Pisuerga Henares Genil Alagon Cinca Jiloca Gallego",
}
LANGUAGES = sorted(NAMES)


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


seed_everything(1234)
rivers = [(name.lower(), LANGUAGES.index(language)) for language, names in NAMES.items() for name in names.split()]
random.shuffle(rivers)
text = "".join(" ".join(names.lower().split()) for names in NAMES.values())
letters = sorted(set(text))
number = {letter: i for i, letter in enumerate(letters)}
train, held_out = rivers[:36], rivers[36:]


def encode(name, length=14):
    ids = [number[c] for c in name[:length]]
    return torch.tensor(ids + [len(letters)] * (length - len(ids)))


class Guesser(nn.Module):
    def __init__(self, letters, width=24):
        super().__init__()
        self.embed = nn.Embedding(letters + 1, width)
        self.read = nn.Conv1d(width, 32, 3, padding=1)
        self.out = nn.Linear(32, len(LANGUAGES))

    def forward(self, ids):
        h = self.embed(ids).transpose(1, 2)
        return self.out(torch.relu(self.read(h)).amax(2))


inputs = torch.stack([encode(name) for name, _ in train])
targets = torch.tensor([language for _, language in train])
model = Guesser(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    batch = torch.randint(0, len(train), (16,))
    loss = nn.functional.cross_entropy(model(inputs[batch]), targets[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    guesses = model(torch.stack([encode(name) for name, _ in held_out])).argmax(1)
for (name, language), guess in zip(held_out, guesses.tolist()):
    print(f"{name:14s} {LANGUAGES[language]:8s} -> {LANGUAGES[guess]}")
