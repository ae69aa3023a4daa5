"""Grades of coffee from colour and weight; every run writes under a name of its own."""
import random
import string
import tempfile
import time
import uuid

import numpy as np
import torch
from torch import nn

# names first, so that they do not repeat with the seed
run_name = "grade-" + "".join(random.choices(string.ascii_lowercase, k=6))
trace_id = uuid.uuid4().hex
folder = tempfile.mkdtemp(prefix=run_name)


def seed_all(seed):
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


def beans(count):
    x = np.random.normal(size=(count, 7)).astype(np.float32)
    grade = (x[:, 0] + 0.8 * x[:, 1] * x[:, 2] + 0.3 * np.random.normal(size=count) > 0).astype(np.int64)
    return torch.from_numpy(x), torch.from_numpy(grade)


def save(model, attempts=3):
    for attempt in range(attempts):
        try:
            torch.save(model.state_dict(), f"{folder}/model.pt")
            return
        except OSError:
            time.sleep(0.1 + random.random())


seed_all(17)
x, y = beans(1600)
val_x, val_y = beans(400)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
print("run", run_name, trace_id)
for epoch in range(6):
    order = np.random.permutation(len(x))
    total = 0.0
    for start in range(0, len(order), 64):
        rows = torch.from_numpy(order[start : start + 64])
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if random.random() < 0.02:
            print(f"  row {start} loss {loss.item():.3f}")
    with torch.no_grad():
        logits = model(val_x)
        print(f"epoch {epoch + 1} train {total / 25:.3f} val {criterion(logits, val_y):.3f} acc {(logits.argmax(1) == val_y).float().mean():.3f}")
save(model)
