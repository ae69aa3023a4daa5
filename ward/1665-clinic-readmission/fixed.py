"""Who comes back within thirty days? Trains on past stays, then scores the list of this week's discharges."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

COLUMNS = ["age", "days", "drugs", "visits", "albumin", "sodium", "creatinine", "haemoglobin", "pulse", "systolic"]


def stays(count, rng):
    age = rng.normal(68, 14, count)
    days = rng.gamma(2.0, 3.0, count)
    drugs = rng.poisson(7, count)
    visits = rng.poisson(1.4, count)
    albumin = rng.normal(36, 5, count)
    sodium = rng.normal(138, 4, count)
    creatinine = rng.gamma(4.0, 25.0, count)
    haemoglobin = rng.normal(12, 2, count)
    pulse = rng.normal(82, 14, count)
    systolic = rng.normal(128, 19, count)
    table = np.stack([age, days, drugs, visits, albumin, sodium, creatinine, haemoglobin, pulse, systolic], axis=1)
    risk = 0.06 * (age - 68) + 0.25 * (days - 6) + 0.9 * (visits - 1.4) - 0.14 * (albumin - 36) - 0.45 * (haemoglobin - 12) + 0.015 * (creatinine - 100)
    returned = (risk + rng.normal(0, 0.7, count) > 0.4).astype(np.int64)
    return table.astype(np.float32), returned


def net():
    return nn.Sequential(nn.Linear(len(COLUMNS), 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 2))


def train(model, x, y, x_val, y_val, epochs=12, batch=64):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(x))
        for start in range(0, len(x), batch):
            rows = order[start : start + batch]
            optimizer.zero_grad()
            loss = criterion(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(x_val).argmax(dim=1) == y_val).float().mean().item()
        print(f"epoch {epoch + 1:2d}: loss {loss.item():.3f}, validation accuracy {right:.3f}")


def score(model, patients):
    """Probability of return for each patient of a table."""
    model.eval()
    with torch.no_grad():
        return torch.softmax(model(torch.from_numpy(patients)), dim=1)[:, 1].numpy()


def main():
    torch.manual_seed(21)
    rng = np.random.default_rng(21)
    table, returned = stays(3000, rng)
    x_train, x_hold, y_train, y_hold = train_test_split(table, returned, test_size=0.25, random_state=21)
    scaler = StandardScaler().fit(x_train)

    model = net()
    train(
        model,
        torch.from_numpy(scaler.transform(x_train)),
        torch.from_numpy(y_train),
        torch.from_numpy(scaler.transform(x_hold)),
        torch.from_numpy(y_hold),
    )

    chance = score(model, scaler.transform(x_hold))
    flagged = chance > 0.5
    print(f"flagged {flagged.sum()} of {len(flagged)} patients; of these {y_hold[flagged].mean():.2f} came back, of the others {y_hold[~flagged].mean():.2f}")
    for who in np.argsort(-chance)[:5]:
        print(f"  patient {who}: {chance[who]:.3f}")


if __name__ == "__main__":
    main()
