"""Fill the missing quarter of small mosaics (conv net, masked MSE)."""
import torch
import torch.nn as nn

torch.manual_seed(30)
basis = torch.nn.functional.interpolate(torch.randn(10, 1, 4, 4), size=12, mode="bicubic")


def mosaics(n):
    mix = torch.randn(n, 10) / 10 ** 0.5
    return torch.einsum("nk,kchw->nchw", mix, basis) * 2 + 0.05 * torch.randn(n, 1, 12, 12)


def hide(img):
    mask = torch.ones_like(img)
    mask[:, :, 3:9, 3:9] = 0
    return torch.cat([img * mask, mask], 1), 1 - mask


class Inpaint(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, 12, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.GELU())
        self.middle = nn.Sequential(nn.Flatten(), nn.Linear(216, 96), nn.GELU())
        self.up = nn.Linear(96, 144)

    def forward(self, x):
        return self.up(self.middle(self.down(x))).view(-1, 1, 12, 12)


def masked_mse(pred, img, hole):
    return ((pred - img) ** 2 * hole).sum() / hole.sum()


train_img, val_img = mosaics(2000), mosaics(300)
net = Inpaint()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[25, 50], gamma=0.1)
window = []
for step in range(1, 281):
    net.train()
    img = train_img[torch.randint(len(train_img), (40,))]
    x, hole = hide(img)
    loss = masked_mse(net(x), img, hole)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    window.append(loss.item())
    if step % 40 == 0:
        net.eval()
        with torch.no_grad():
            xv, hv = hide(val_img)
            val = masked_mse(net(xv), val_img, hv).item()
        print(f"step {step} loss {sum(window) / len(window):.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.1e}")
        window = []
