import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
use_scaler = device == "cuda"
amp_dtype = torch.float16 if use_scaler else torch.bfloat16

digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32, device=device) / 16
y = torch.tensor(digits.target, device=device)
idx = torch.randperm(len(y), device=device)
train_idx, val_idx = idx[:1400], idx[1400:]

model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 10)).to(device)
EPOCHS, BS = 14, 70
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS * (1400 // BS), eta_min=0.0)
scaler = torch.amp.GradScaler(device, enabled=use_scaler)
criterion = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for b in train_idx[torch.randperm(1400)].split(BS):
        optimizer.zero_grad()
        with torch.autocast(device_type=device, dtype=amp_dtype):
            loss = criterion(model(X[b]), y[b])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        total += loss.item() * len(b) / 1400
    model.eval()
    with torch.no_grad(), torch.autocast(device_type=device, dtype=amp_dtype):
        out = model(X[val_idx]).float()
    vl = criterion(out, y[val_idx]).item()
    acc = (out.argmax(1) == y[val_idx]).float().mean().item()
    print(f"epoch {epoch:2d} lr {scheduler.get_last_lr()[0]:.5f} train {total:.4f} val {vl:.4f} acc {acc:.3f}")
