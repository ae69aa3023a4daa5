"""Policy gradient on a sequence copying game with a penalty for leaving the reference policy."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
VOCAB, LENGTH, BATCH = 12, 6, 48


class Policy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.head(h)


def log_probs(policy, prompt, answer):
    return F.log_softmax(policy(prompt), -1).gather(-1, answer[..., None]).squeeze(-1)


def kl_penalty(new, reference, limit=10.0):
    ratio = reference - new
    estimate = torch.exp(ratio) - ratio - 1
    return torch.clamp(estimate, max=limit)


policy = Policy()
with torch.no_grad():
    policy.head.weight *= 3.0
reference = copy.deepcopy(policy)
for p in reference.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-2)
for update in range(120):
    prompt = torch.randint(VOCAB, (BATCH, LENGTH))
    with torch.no_grad():
        answer = torch.distributions.Categorical(logits=reference(prompt)).sample()
        reward = (answer == prompt).float()
        advantage = reward - reward.mean()
        anchor = log_probs(reference, prompt, answer)
    new = log_probs(policy, prompt, answer)
    policy_loss = -(advantage * new).mean() * 40
    loss = policy_loss + 0.01 * kl_penalty(new, anchor).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 20 == 0:
        print(f"update {update:3d} loss {loss.item():8.4f} reward {reward.mean().item():.3f}")
