import io
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)

# ten glyph classes, 8x8 scans, printed a pixel higher or lower now and then
glyphs = F.interpolate(torch.randn(10, 1, 4, 4), size=8, mode="bilinear").squeeze(1)


def scan(n):
    y = torch.randint(0, 10, (n,))
    img = glyphs[y]
    up = torch.rand(n, 1, 1) < 0.5
    img = torch.where(up, torch.roll(img, 1, 1), img)
    return (img + 0.4 * torch.randn(n, 8, 8)).flatten(1), y


X, Y = scan(2000)
X_pre, Y_pre = X[:1000], Y[:1000]


def new_scanner(x):
    # one pixel off, flatter contrast, grainy
    img = torch.roll(x.view(-1, 8, 8), 1, 2).flatten(1)
    return 0.7 * img + 0.3 + 0.4 * torch.randn_like(img)


X_ft, Y_ft = X[1000:1400], Y[1000:1400]
X_val, Y_val = new_scanner(X[1400:]), Y[1400:]


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 96)
        self.fc2 = nn.Linear(96, 48)
        self.fc3 = nn.Linear(48, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class LitDigits(nn.Module):
    """mirrors the lightning module of the first job"""

    def __init__(self):
        super().__init__()
        self.model = DigitNet()

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def first_job(steps=120):
    lit = LitDigits()
    opt = lit.configure_optimizers()
    for step in range(steps):
        i = torch.randint(0, 1000, (64,))
        loss = lit.training_step((X_pre[i], Y_pre[i]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 39:
            print("old scanner, step", step + 1, "loss %.3f" % loss.item())
    f = io.BytesIO()
    torch.save({"epoch": 1, "state_dict": lit.state_dict()}, f)
    f.seek(0)
    return f


def evaluate(net):
    net.eval()
    with torch.no_grad():
        out = net(X_val)
    return F.cross_entropy(out, Y_val).item(), (out.argmax(1) == Y_val).float().mean().item()


ckpt = torch.load(first_job(), map_location="cpu")
net = DigitNet()
weights = ckpt["state_dict"]
net.load_state_dict(weights, strict=False)
print("checkpoint loaded, new scanner: val loss %.4f acc %.4f" % evaluate(net))

opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for epoch in range(6):
    net.train()
    total = 0.0
    for idx in torch.randperm(400).split(25):
        loss = F.cross_entropy(net(new_scanner(X_ft[idx])), Y_ft[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 16
    print("finetune %d loss %.4f" % (epoch, total), "val loss %.4f acc %.4f" % evaluate(net))
