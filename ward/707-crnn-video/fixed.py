import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils import data

torch.manual_seed(9)
np.random.seed(9)

# action recognition toy: a blob moves left / right / up / down over 8 frames of 10x10
k = 4
T = 8
batch_size = 40
learning_rate = 2e-3
epochs = 5


class ToyVideos(data.Dataset):
    def __init__(self, n):
        self.labels = np.random.randint(0, k, n)
        yy, xx = np.mgrid[0:10, 0:10]
        vids = np.zeros((n, T, 1, 10, 10), dtype=np.float32)
        for j, c in enumerate(self.labels):
            pos = np.random.uniform(3.5, 5.5, 2)
            v = np.array([(0, -0.55), (0, 0.55), (-0.55, 0), (0.55, 0)][c]) * np.random.uniform(0.7, 1.2)
            for t in range(T):
                p = pos + v * (t - T / 2)
                vids[j, t, 0] = np.exp(-((yy - p[0]) ** 2 + (xx - p[1]) ** 2) / 1.5)
        self.vids = torch.from_numpy((vids - 0.05) / 0.17)
        self.labels = torch.from_numpy(self.labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.vids[index], self.labels[index]


class EncoderCNN(nn.Module):
    def __init__(self, embed=24):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, stride=2, padding=1)
        self.fc = nn.Linear(12 * 9, embed)

    def forward(self, x_3d):
        b, t = x_3d.shape[:2]
        x = x_3d.reshape(b * t, *x_3d.shape[2:])
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1)).view(b, t, -1)


class DecoderRNN(nn.Module):
    def __init__(self, embed=24, h_RNN=32, num_classes=k):
        super().__init__()
        self.RNN_input_size = embed
        self.LSTM = nn.LSTM(input_size=embed, hidden_size=h_RNN, num_layers=1)
        self.fc1 = nn.Linear(h_RNN, 32)
        self.fc2 = nn.Linear(32, num_classes)

    def forward(self, x_RNN):
        # LSTM wants (time, batch, features)
        x_RNN = x_RNN.transpose(0, 1)
        RNN_out, (h_n, h_c) = self.LSTM(x_RNN, None)
        x = F.relu(self.fc1(RNN_out[-1]))
        return self.fc2(x)


train_set, valid_set = ToyVideos(1000), ToyVideos(300)
train_loader = data.DataLoader(train_set, batch_size=batch_size, shuffle=True)
valid_loader = data.DataLoader(valid_set, batch_size=100)

cnn_encoder = EncoderCNN()
rnn_decoder = DecoderRNN()
crnn_params = list(cnn_encoder.parameters()) + list(rnn_decoder.parameters())
optimizer = torch.optim.Adam(crnn_params, lr=learning_rate)


def train(epoch):
    cnn_encoder.train()
    rnn_decoder.train()
    losses, correct = [], 0
    for X, y in train_loader:
        optimizer.zero_grad()
        output = rnn_decoder(cnn_encoder(X))
        loss = F.cross_entropy(output, y)
        losses.append(loss.item())
        correct += (output.argmax(1) == y).sum().item()
        loss.backward()
        optimizer.step()
    return np.mean(losses), correct / len(train_set)


def validation():
    cnn_encoder.eval()
    rnn_decoder.eval()
    correct, total = 0, 0.0
    with torch.no_grad():
        for X, y in valid_loader:
            output = rnn_decoder(cnn_encoder(X))
            total += F.cross_entropy(output, y, reduction='sum').item()
            correct += (output.argmax(1) == y).sum().item()
    return total / len(valid_set), correct / len(valid_set)


for epoch in range(epochs):
    tl, ta = train(epoch)
    vl, va = validation()
    print('Epoch %d  train loss %.4f acc %.2f%%   test loss %.4f acc %.2f%%' % (epoch + 1, tl, 100 * ta, vl, 100 * va))
