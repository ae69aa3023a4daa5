import torch

torch.manual_seed(0)
n = 1500
r = torch.cat([torch.rand(n // 2) * 0.8, 1.1 + torch.rand(n - n // 2) * 0.7])
a = torch.rand(n) * 6.2832
X = torch.stack([r * torch.cos(a), r * torch.sin(a)], dim=1) + 0.05 * torch.randn(n, 2)
y = (torch.arange(n) >= n // 2).long()
perm = torch.randperm(n)
X, y = X[perm], y[perm]
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

model = torch.nn.Sequential(
    torch.nn.Linear(2, 32),
    torch.nn.Linear(32, 16),
    torch.nn.Linear(16, 2),
)
loss_fn = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(12):
    order = torch.randperm(len(X_train))
    for i in range(0, len(X_train), 40):
        batch = order[i:i + 40]
        loss = loss_fn(model(X_train[batch]), y_train[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        test_out = model(X_test)
        train_loss = loss_fn(model(X_train), y_train)
    print(f"epoch {epoch}, train loss {train_loss:.4f}, test loss {loss_fn(test_out, y_test):.4f}, test acc {(test_out.argmax(1) == y_test).float().mean():.3f}")
