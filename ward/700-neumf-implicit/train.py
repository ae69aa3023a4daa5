import random
import numpy as np
import torch
import torch.nn as nn

# neural CF on implicit feedback, click logs -> point-wise training with sampled negatives
seed = 2022
random.seed(seed)
np.random.seed(seed)
torch.manual_seed(seed)

n_user, n_item = 400, 250
num_ng = 4
batch_size = 384
epochs = 9


def fake_clicks():
    pu = np.random.randn(n_user, 3)
    qi = np.random.randn(n_item, 3)
    pop = 0.7 * np.random.randn(n_item)
    aff = 1.6 * pu @ qi.T + pop[None, :] - 3.0
    prob = 1 / (1 + np.exp(-aff))
    return (np.random.rand(n_user, n_item) < prob).astype(np.int64)


clicks = fake_clicks()
u, i = clicks.nonzero()
perm = np.random.permutation(len(u))
cut = int(0.85 * len(u))
train_pos = np.stack([u, i], 1)[perm[:cut]]
test_pos = np.stack([u, i], 1)[perm[cut:]]
print('positives', len(train_pos), 'held out', len(test_pos), 'density %.3f' % clicks.mean())


def sample_negatives(users):
    items = np.random.randint(0, n_item, size=len(users))
    clash = clicks[users, items] == 1
    while clash.any():
        items[clash] = np.random.randint(0, n_item, size=clash.sum())
        clash = clicks[users, items] == 1
    return items


def auc(y, s):
    rank = s.argsort().argsort() + 1
    n1 = y.sum()
    return (rank[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1))


class NeuMF(nn.Module):
    def __init__(self, factors=16, hidden=32):
        super().__init__()
        self.u_gmf = nn.Embedding(n_user, factors)
        self.i_gmf = nn.Embedding(n_item, factors)
        self.u_mlp = nn.Embedding(n_user, hidden)
        self.i_mlp = nn.Embedding(n_item, hidden)
        self.mlp = nn.Sequential(
            nn.Linear(2 * hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, factors), nn.ReLU(),
        )
        self.predict_layer = nn.Linear(2 * factors, 1)
        for e in (self.u_gmf, self.i_gmf, self.u_mlp, self.i_mlp):
            nn.init.normal_(e.weight, std=0.1)

    def forward(self, user, item):
        gmf = self.u_gmf(user) * self.i_gmf(item)
        mlp = self.mlp(torch.cat([self.u_mlp(user), self.i_mlp(item)], -1))
        pred = self.predict_layer(torch.cat([gmf, mlp], -1))
        return torch.sigmoid(pred).view(-1)


model = NeuMF()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)

te_u = np.concatenate([test_pos[:, 0], test_pos[:, 0]])
te_i = np.concatenate([test_pos[:, 1], sample_negatives(test_pos[:, 0])])
te_y = np.concatenate([np.ones(len(test_pos)), np.zeros(len(test_pos))])

for epoch in range(1, epochs + 1):
    model.train()
    users = np.repeat(train_pos[:, 0], 1 + num_ng)
    items = np.empty(len(users), dtype=np.int64)
    labels = np.zeros(len(users), dtype=np.float32)
    items[::1 + num_ng] = train_pos[:, 1]
    labels[::1 + num_ng] = 1
    neg = labels == 0
    items[neg] = sample_negatives(users[neg])
    order = np.random.permutation(len(users))[:batch_size * 40]

    current_loss = 0.
    for s in range(0, len(order), batch_size):
        idx = order[s:s + batch_size]
        user = torch.from_numpy(users[idx])
        item = torch.from_numpy(items[idx])
        label = torch.from_numpy(labels[idx])
        optimizer.zero_grad()
        prediction = model(user, item)
        loss = criterion(prediction, label)
        loss.backward()
        optimizer.step()
        current_loss += loss.item()

    model.eval()
    with torch.no_grad():
        score = model(torch.from_numpy(te_u), torch.from_numpy(te_i)).numpy()
    print('[Epoch %02d] loss %.4f  auc %.4f' % (epoch, current_loss / (len(order) / batch_size), auc(te_y, score)))
