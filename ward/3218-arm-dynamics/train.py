import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(77)

# ---- data: torque of a 2-joint arm from angles, speeds, accelerations ----
def inverse_dynamics(n):
    q = (torch.rand(n, 2) * 2 - 1) * 3.0
    qd = torch.randn(n, 2)
    qdd = torch.randn(n, 2)
    c2, s2 = q[:, 1].cos(), q[:, 1].sin()
    m11, m12, m22 = 2.6 + 1.6 * c2, 0.8 + 0.8 * c2, 0.8
    g1 = 5.0 * q[:, 0].cos() + 2.5 * (q[:, 0] + q[:, 1]).cos()
    g2 = 2.5 * (q[:, 0] + q[:, 1]).cos()
    tau1 = m11 * qdd[:, 0] + m12 * qdd[:, 1] - 0.8 * s2 * (2 * qd[:, 0] * qd[:, 1] + qd[:, 1] ** 2) + g1
    tau2 = m12 * qdd[:, 0] + m22 * qdd[:, 1] + 0.8 * s2 * qd[:, 0] ** 2 + g2
    x = torch.cat([q.sin(), q.cos(), qd, qdd], dim=1)
    y = torch.stack([tau1, tau2], 1)
    return x, y + 0.1 * torch.randn(n, 2)


x, y = inverse_dynamics(14000)
x_mean, x_std, y_mean, y_std = x[:12000].mean(0), x[:12000].std(0), y[:12000].mean(0), y[:12000].std(0)
x, y = (x - x_mean) / x_std, (y - y_mean) / y_std
x_train, y_train, x_val, y_val = x[:12000], y[:12000], x[12000:], y[12000:]


# ---- model ----
class TorqueNet(nn.Module):
    def __init__(self, d_in=8, width=96, d_out=2):
        super().__init__()
        self.inp = nn.Linear(d_in, width)
        self.hid1 = nn.Linear(width, width)
        self.hid2 = nn.Linear(width, width)
        self.out = nn.Linear(width, d_out)

    def forward(self, x):
        h = self.inp(x)
        F.relu(h)
        h = self.hid1(h)
        F.relu(h)
        h = self.hid2(h)
        F.relu(h)
        return self.out(h)


# ---- training ----
net = TorqueNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
EPOCHS = 24
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, epochs=EPOCHS, steps_per_epoch=188)
loss_fn = nn.MSELoss()

for epoch in range(EPOCHS):
    net.train()
    running = 0.0
    for idx in torch.randperm(12000).split(64):
        optimizer.zero_grad()
        loss = loss_fn(net(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        pred = net(x_val)
        val = loss_fn(pred, y_val).item()
        r2 = 1 - ((pred - y_val) ** 2).mean(0) / y_val.var(0)
    if (epoch + 1) % 2 == 0:
        print(f"epoch {epoch + 1:2d}  train {running / 12000:.4f}  val {val:.4f}  R2 joint1 {r2[0]:.3f} joint2 {r2[1]:.3f}")
