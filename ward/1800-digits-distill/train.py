"""Knowledge distillation (Hinton et al. 2015): a wide teacher, a small student, digits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

TEMPERATURE = 3.0
ALPHA = 0.7          # weight of the soft targets


def set_seed(seed):
    torch.manual_seed(seed)


def get_loaders(batch_size=32):
    X, y = load_digits(return_X_y=True)
    X = (torch.tensor(X, dtype=torch.float32) - 4.9) / 6.0
    data = TensorDataset(X, torch.tensor(y))
    train, test = random_split(data, [1400, 397], generator=torch.Generator().manual_seed(1))
    return DataLoader(train, batch_size, shuffle=True), DataLoader(test, 397)


class MLP(nn.Module):
    def __init__(self, hidden, p=0.0):
        super().__init__()
        dims = [64] + list(hidden)
        layers = []
        for a, b in zip(dims[:-1], dims[1:]):
            layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(p)]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(dims[-1], 10)

    def forward(self, x):
        return self.out(self.body(x))


def kd_loss(student_logits, teacher_logits, labels):
    hard = F.cross_entropy(student_logits, labels)
    soft = F.kl_div(student_logits / TEMPERATURE,
                    F.softmax(teacher_logits / TEMPERATURE, dim=1),
                    reduction="batchmean") * TEMPERATURE ** 2
    return ALPHA * soft + (1 - ALPHA) * hard


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def train_teacher(loader, test_loader, epochs=20):
    teacher = MLP((256, 256), p=0.3)
    opt = torch.optim.AdamW(teacher.parameters(), lr=1e-3, weight_decay=0.01)
    for _ in range(epochs):
        teacher.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()
    print(f"teacher accuracy {accuracy(teacher, test_loader):.3f}")
    return teacher.eval()


def distill(teacher, student, loader, test_loader, epochs=30):
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for epoch in range(1, epochs + 1):
        student.train()
        total = 0.0
        for x, y in loader:
            with torch.no_grad():
                t = teacher(x)
            loss = kd_loss(student(x), t, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} distillation loss {total / len(loader):.4f} student accuracy {accuracy(student, test_loader):.3f}")


def main():
    set_seed(17)
    train_loader, test_loader = get_loaders()
    teacher = train_teacher(train_loader, test_loader)
    distill(teacher, MLP((24,)), train_loader, test_loader)


if __name__ == "__main__":
    main()
