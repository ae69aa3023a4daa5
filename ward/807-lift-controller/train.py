"""REINFORCE with an entropy bonus for a lift; it may not go past its end stops."""
import torch
import torch.nn as nn

FLOORS, HORIZON = 11, 12
UP, DOWN, STAY = 0, 1, 2
torch.manual_seed(6)


class Lift:
    def __init__(self, n):
        self.pos = torch.randint(4, FLOORS - 4, (n,))
        self.goal = torch.randint(2, FLOORS - 2, (n,))

    def state(self):
        eye = torch.eye(FLOORS)
        return torch.cat([eye[self.pos], eye[self.goal]], 1)

    def legal(self):
        ok = torch.ones(len(self.pos), 3, dtype=torch.bool)
        ok[self.pos == FLOORS - 1, UP] = False
        ok[self.pos == 0, DOWN] = False
        return ok

    def step(self, action):
        self.pos = (self.pos + (action == UP).long() - (action == DOWN).long()).clamp(0, FLOORS - 1)
        return (self.pos == self.goal).float() - 0.1 * (action != STAY).float()


policy = nn.Sequential(nn.Linear(2 * FLOORS, 48), nn.Tanh(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def act(env):
    logits = policy(env.state()).masked_fill(~env.legal(), -1e9)
    probs = torch.softmax(logits, dim=-1)
    log_probs = torch.log(probs)
    action = (probs.detach() / torch.empty_like(probs).exponential_()).argmax(-1, keepdim=True)
    entropy = -(probs * log_probs).sum(-1)
    return action.squeeze(1), log_probs.gather(1, action).squeeze(1), entropy


for update in range(1, 151):
    env = Lift(16)
    logps, rewards, entropies = [], [], []
    for t in range(min(HORIZON, 3 + update // 5)):
        action, logp, entropy = act(env)
        rewards.append(env.step(action))
        logps.append(logp)
        entropies.append(entropy)
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    advantage = returns - returns.mean(1, keepdim=True)
    loss = -(torch.stack(logps) * advantage).mean() - 0.02 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    if update % 10 == 0 or update == 1:
        print(f"update {update:3d} loss {loss.item():.4f} reward per step {torch.stack(rewards).mean().item():.3f} entropy {torch.stack(entropies).mean().item():.3f}")
