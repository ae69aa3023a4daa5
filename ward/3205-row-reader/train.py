# Digits read row by row with a bidirectional GRU.
import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)

# Hyper-parameters
input_size = 8
hidden_size = 56
num_layers = 1
num_classes = 10
batch_size = 32
num_epochs = 24
learning_rate = 0.002

# Dataset
images, labels = load_digits(return_X_y=True)
images = torch.tensor(images, dtype=torch.float32).reshape(-1, 8, 8) / 16.0
labels = torch.tensor(labels)
x_train, x_test, y_train, y_test = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=batch_size, shuffle=True, drop_last=True)
test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=60)


class BiRNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super(BiRNN, self).__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden_size * 2, num_classes)

    def forward(self, x):
        # last hidden state of both directions
        _, h_n = self.gru(x)
        h_n = h_n.view(x.size(0), -1)
        return self.fc(self.dropout(h_n))


model = BiRNN(input_size, hidden_size, num_layers, num_classes)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=learning_rate)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, num_epochs)

total_step = len(train_loader)
for epoch in range(num_epochs):
    model.train()
    epoch_loss = 0
    for i, (x, y) in enumerate(train_loader):
        outputs = model(x)
        loss = criterion(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    scheduler.step()

    model.eval()
    with torch.no_grad():
        correct, test_loss = 0, 0
        for x, y in test_loader:
            outputs = model(x)
            test_loss += criterion(outputs, y).item() / len(test_loader)
            correct += (outputs.argmax(1) == y).sum().item()
    print("Epoch [{}/{}], Loss: {:.4f}, Test loss: {:.4f}, Test accuracy: {:.2f} %".format(
        epoch + 1, num_epochs, epoch_loss / total_step, test_loss, 100 * correct / len(y_test)))
