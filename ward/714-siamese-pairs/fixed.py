import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)


class SiameseSignatures(Dataset):
    def __init__(self, images, labels, seed):
        self.images = images
        self.labels = labels
        self.rng = np.random.RandomState(seed)
        self.label_to_indices = {c: np.where(labels == c)[0] for c in range(10)}

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        target = self.rng.randint(0, 2)
        c = self.labels[index]
        if target == 1:
            other = self.rng.choice(self.label_to_indices[c])
        else:
            other = self.rng.choice(self.label_to_indices[(c + self.rng.randint(1, 10)) % 10])
        return self.images[index], self.images[other], np.float32(target)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(64, 96), nn.PReLU(),
            nn.Linear(96, 48), nn.PReLU(),
            nn.Linear(48, 8),
        )

    def forward(self, x):
        return self.fc(x)


class SiameseNet(nn.Module):
    def __init__(self, embedding_net):
        super().__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2):
        return self.embedding_net(x1), self.embedding_net(x2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, target):
        squared = (output2 - output1).pow(2).sum(1)
        losses = 0.5 * (target * squared + (1 - target) * F.relu(self.margin - (squared + 1e-9).sqrt()).pow(2))
        return losses.mean()


# ten signature styles, 8x8 thumbnails: style + writer-dependent distortion + grain
labels = np.random.RandomState(3).randint(0, 10, 1800)
styles = torch.randn(10, 64)
bend = torch.randn(10, 64, 6)
images = styles[labels] + 0.6 * torch.einsum('nik,nk->ni', bend[labels], torch.randn(1800, 6)) + 0.6 * torch.randn(1800, 64)
images = images / images.std()
cut = 1280
train_loader = DataLoader(SiameseSignatures(images[:cut], labels[:cut], 1), batch_size=64, shuffle=True)
val_x, val_y = images[cut:], labels[cut:]


def one_nn(net):
    """1-NN in the embedding, against 400 training images"""
    with torch.no_grad():
        a, b = net(val_x), net(images[:400])
        near = torch.cdist(a, b).argmin(1).numpy()
    return (labels[:400][near] == val_y).mean()


model = SiameseNet(EmbeddingNet())
loss_fn = ContrastiveLoss(margin=1.0)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    losses = []
    for x1, x2, target in train_loader:
        out1, out2 = model(x1, x2)
        loss = loss_fn(out1, out2, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    print('Epoch: {}/6. Train set: Average loss: {:.4f}\t1-NN accuracy {:.3f}'.format(epoch + 1, np.mean(losses), one_nn(model.embedding_net)))
