"""Sparse autoencoder (dictionary learning): 96 atoms for 8x8 digits, seeded with training pictures."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class SparseAutoencoder(nn.Module):
    def __init__(self, data, atoms=96):
        super().__init__()
        seeds = data[torch.randperm(len(data))[:atoms]]
        self.register_buffer("centre", data.max(dim=0).values)
        self.W_enc = nn.Parameter((seeds / seeds.norm(dim=1, keepdim=True)).t().contiguous())
        self.b_enc = nn.Parameter(torch.zeros(atoms))
        self.W_dec = nn.Parameter(0.2 * self.W_enc.detach().t().clone())
        self.b_dec = nn.Parameter(torch.zeros(data.shape[1]))

    def encode(self, x):
        return torch.relu((x - self.centre) @ self.W_enc + self.b_enc)

    def forward(self, x):
        codes = self.encode(x)
        return codes @ self.W_dec + self.b_dec, codes


def main():
    torch.manual_seed(23)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    train, test = x[:1500], x[1500:]
    sae = SparseAutoencoder(train)
    optimizer = torch.optim.Adam(sae.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    l1 = 1e-3
    step = 0
    for epoch in range(10):
        for batch in train[torch.randperm(len(train))].split(50):
            recon, codes = sae(batch)
            mse = ((recon - batch) ** 2).sum(1).mean()
            loss = mse + l1 * codes.abs().sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 30 == 0:
                with torch.no_grad():
                    r, c = sae(test)
                    held_out = ((r - test) ** 2).sum(1).mean()
                print(f"step {step:4d}  loss {loss.item():.4f}  held-out mse {held_out:.4f}  L0 {(c > 0).float().sum(1).mean():.1f}")
            step += 1
        scheduler.step()


main()
