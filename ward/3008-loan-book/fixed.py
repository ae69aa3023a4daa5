import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

rng = np.random.default_rng(31)
torch.manual_seed(31)


def loan_book(n):
    """Closed loans with all columns of the export."""
    amount = np.exp(rng.normal(9.2, 0.5, n))
    rate = np.clip(rng.normal(0.13, 0.04, n), 0.05, 0.30)
    income = np.exp(rng.normal(10.9, 0.45, n))
    dti = np.clip(rng.normal(18, 8, n), 0, 60)
    fico = rng.normal(690, 35, n)
    util = np.clip(rng.normal(0.5, 0.25, n), 0, 1.2)
    open_acc = rng.poisson(10, n)
    years = rng.integers(0, 11, n)
    z = (18 * (rate - 0.13) + 0.05 * (dti - 18) - 0.022 * (fico - 690) + 1.8 * (util - 0.5)
         - 1.4 * np.log(income / 54000) + 0.9 * np.log(amount / 10000) - 0.05 * (years - 5))
    default = (2.2 * z + rng.logistic(0, 1, n) > 0)
    paid = np.where(default, rng.beta(2, 4, n), rng.uniform(0.97, 1.0, n)) * amount
    fee = np.where(default & (rng.random(n) < 0.6), rng.gamma(2, 60, n), 0.0)
    last_payment = np.where(default, amount / 36, amount * rng.uniform(0.03, 0.6, n)) * rng.normal(1, 0.05, n)
    return {"loan_amnt": np.log(amount), "int_rate": rate, "annual_inc": np.log(income), "dti": dti, "fico": fico,
            "revol_util": util, "open_acc": open_acc, "emp_length": years, "total_rec_prncp": paid / amount,
            "collection_fee": np.log1p(fee), "last_pymnt_amnt": np.log1p(last_payment)}, default.astype("float32")


FEATURES = ["loan_amnt", "int_rate", "annual_inc", "dti", "fico", "revol_util", "open_acc", "emp_length"]

columns, default = loan_book(44000)
X = np.stack([columns[f] for f in FEATURES], 1).astype("float32")
train, valid = slice(0, 36000), slice(36000, 44000)
mu, sd = X[train].mean(0), X[train].std(0)
X = torch.from_numpy((X - mu) / sd)
y = torch.from_numpy(default)
print("features:", ", ".join(FEATURES))
print("default rate: train %.3f valid %.3f" % (default[train].mean(), default[valid].mean()))

net = nn.Sequential(nn.Linear(len(FEATURES), 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 1))
bce = nn.BCEWithLogitsLoss()
optim = torch.optim.AdamW(net.parameters(), lr=4e-4, weight_decay=1e-2)
xt, yt, xv, yv = X[train], y[train], X[valid], y[valid]
for epoch in range(1, 16):
    total = 0.0
    for idx in torch.randperm(len(yt)).split(64):
        optim.zero_grad()
        loss = bce(net(xt[idx])[:, 0], yt[idx])
        loss.backward()
        optim.step()
        total += loss.item() * len(idx) / len(yt)
    with torch.no_grad():
        logit = net(xv)[:, 0]
    acc = ((logit > 0).float() == yv).float().mean()
    print(f"epoch {epoch:2d} loss {total:.4f} val_loss {bce(logit, yv):.4f} val_acc {acc:.4f} "
          f"val_auc {roc_auc_score(yv.numpy(), logit.numpy()):.4f}")
