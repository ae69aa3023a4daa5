# readmission risk from lists of drug codes (bag of codes), three risk groups
import torch
from torch import nn

torch.manual_seed(404)
CODES, PER_PATIENT = 150, 10

effect = torch.randn(CODES, 3) * 1.6   # hidden: how each drug relates to each risk group


def cohort(n):
    lists = torch.stack([torch.randperm(CODES)[:PER_PATIENT] for _ in range(n)])
    score = effect[lists].sum(1)
    return lists, (score + 0.3 * torch.randn(n, 3)).argmax(1)


class RiskModel(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.codes = nn.EmbeddingBag(CODES, dim, mode="sum")
        nn.init.normal_(self.codes.weight, std=0.2)
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, lists):
        return self.fc2(torch.relu(self.fc1(self.codes(lists))))


def param_groups(model, wd):
    # no weight decay on biases
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            no_decay.append(p)
        else:
            decay.append(p)
    return [dict(params=decay, weight_decay=wd), dict(params=no_decay, weight_decay=0.0)]


train_x, train_y = cohort(5000)
val_x, val_y = cohort(1000)
model = RiskModel()
opt = torch.optim.AdamW(param_groups(model, 0.01), lr=4e-3)
lossf = nn.CrossEntropyLoss()

for ep in range(7):
    model.train()
    acc_loss = []
    for b in torch.randperm(len(train_y)).split(100):
        opt.zero_grad(set_to_none=True)
        l = lossf(model(train_x[b]), train_y[b])
        l.backward()
        opt.step()
        acc_loss.append(l.item())
    model.eval()
    with torch.no_grad():
        o = model(val_x)
    print("ep", ep, "loss: {:.4f} val: {:.4f} acc: {:.3f}".format(
        sum(acc_loss) / len(acc_loss), lossf(o, val_y).item(), (o.argmax(-1) == val_y).float().mean().item()))
