import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR


class AddingProblem:
    """Sequences of (value, marker); the target is the sum of the two marked values."""

    def __init__(self, length=10):
        self.length = length

    def sample(self, n):
        values = torch.rand(n, self.length) * 2 - 1
        marks = torch.zeros(n, self.length)
        marks.scatter_(1, torch.rand(n, self.length).topk(2, dim=1).indices, 1.0)
        return torch.stack([values, marks], dim=-1), (values * marks).sum(1, keepdim=True)


class Model(nn.Module):
    def __init__(self, d_model=32, nhead=4, num_layers=1):
        super().__init__()
        self.embed = nn.Linear(2, d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.readout = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, 1))

    def forward(self, x):
        return self.readout(self.encoder(self.embed(x)).mean(1))


class Runner:
    def __init__(self, steps=160, batch=64, lr=5e-3, warmup=16):
        torch.manual_seed(1)
        self.task, self.model, self.steps, self.batch = AddingProblem(), Model(), steps, batch
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=1e-4)
        self.sched = LambdaLR(self.opt, lambda s: min((s + 1) / warmup, max(0.02, 1 - s / steps)))
        self.loss_fn = nn.MSELoss()
        self.x_val, self.y_val = self.task.sample(1000)

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            loss = self.loss_fn(self.model(self.x_val), self.y_val).item()
        self.model.train()
        return loss

    def run(self):
        self.model.train()
        window = []
        for step in range(1, self.steps + 1):
            x, y = self.task.sample(self.batch)
            self.opt.zero_grad(set_to_none=True)
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.sched.step()
            window.append(loss.item())
            if step % 20 == 0:
                print(f"step {step:4d} lr {self.sched.get_last_lr()[0]:.5f} loss {sum(window) / len(window):.4f} "
                      f"val {self.validate():.4f}")
                window = []


Runner().run()
