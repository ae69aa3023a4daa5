"""Clicks as they come: logistic model updated after every event."""
import torch
import torch.nn as nn

torch.manual_seed(61)
truth = torch.randn(10) * 0.9


def event():
    x = torch.randn(10)
    return x, torch.bernoulli(torch.sigmoid(x @ truth))


model = nn.Linear(10, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.03)
loss_fn = nn.BCEWithLogitsLoss()
later = [event() for _ in range(600)]
later_x, later_y = torch.stack([x for x, _ in later]), torch.stack([y for _, y in later])
running = None
for step in range(1, 601):
    model.train()
    x, y = event()
    loss = loss_fn(model(x.unsqueeze(0)).view(1), y.view(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    running = loss.item() if running is None else 0.99 * running + 0.01 * loss.item()
    if step % 60 == 0:
        model.eval()
        with torch.no_grad():
            out = model(later_x).squeeze(1)
        acc = ((out > 0).float() == later_y).float().mean().item()
        print(f"event {step} running loss {running:.4f} later {loss_fn(out, later_y).item():.4f} acc {acc:.3f}")
