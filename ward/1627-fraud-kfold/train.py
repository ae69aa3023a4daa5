import copy

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, recall_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler


def build_net(n_in):
    return nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))


def fit_fold(x_tr, y_tr, x_va, y_va, max_epochs=40, patience=5):
    scaler = StandardScaler().fit(x_tr)
    x_tr = torch.tensor(scaler.transform(x_tr), dtype=torch.float32)
    x_va = torch.tensor(scaler.transform(x_va), dtype=torch.float32)
    t_tr, t_va = torch.tensor(y_tr, dtype=torch.float32), torch.tensor(y_va, dtype=torch.float32)
    net = build_net(x_tr.shape[1])
    criterion = nn.BCEWithLogitsLoss(pos_weight=(t_tr == 0).sum() / (t_tr == 1).sum())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
    best, best_state, wait = float("inf"), None, 0
    for epoch in range(1, max_epochs + 1):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(t_tr)).split(64):
            optimizer.zero_grad()
            loss = criterion(net(x_tr[idx]).squeeze(1), t_tr[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            val = criterion(net(x_va).squeeze(1), t_va).item()
        if val < best:
            best, best_state, wait = val, copy.deepcopy(net.state_dict()), 0
        else:
            wait += 1
            if wait >= patience:
                break
    net.load_state_dict(best_state)
    net.eval()
    with torch.no_grad():
        score = net(x_va).squeeze(1).sigmoid().numpy()
    ap, recall = average_precision_score(y_va, score), recall_score(y_va, score > 0.5)
    print(f"  {epoch} epochs, train {total / len(t_tr):.4f} val {best:.4f} ap {ap:.3f} recall {recall:.3f}")
    return ap, recall


def main():
    torch.manual_seed(17)
    x, y = make_classification(n_samples=3000, n_features=16, n_informative=8, n_redundant=2, n_clusters_per_class=2,
                               weights=[0.9], flip_y=0.005, class_sep=1.6, random_state=17)
    results = []
    for fold, (tr, va) in enumerate(StratifiedKFold(5, shuffle=True, random_state=17).split(x, y), 1):
        print(f"fold {fold}: {len(tr)} train rows, {int(y[tr].sum())} frauds")
        results.append(fit_fold(x[tr], y[tr], x[va], y[va]))
    ap, recall = np.array(results).T
    print(f"ap {ap.mean():.3f} +- {ap.std():.3f}, recall {recall.mean():.3f} +- {recall.std():.3f}")


if __name__ == "__main__":
    main()
