"""Actor and critic on a corridor: two losses, one trunk."""
import torch
import torch.nn as nn

torch.manual_seed(6)
N = 9
trunk = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
actor, critic = nn.Linear(32, 2), nn.Linear(32, 1)
opt_actor = torch.optim.Adam([*trunk.parameters(), *actor.parameters()], lr=3e-3)
opt_critic = torch.optim.Adam([*trunk.parameters(), *critic.parameters()], lr=3e-3)
eye = torch.eye(N)


def episode_batch(n=32, horizon=12):
    pos = torch.randint(1, N - 1, (n,))
    states, actions, rewards = [], [], []
    for _ in range(horizon):
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=actor(trunk(eye[pos]))).sample()
        states.append(eye[pos])
        actions.append(a)
        pos = (pos + 2 * a - 1).clamp(0, N - 1)
        rewards.append((pos == N - 1).float())
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0) / horizon
    return torch.stack(states).flatten(0, 1), torch.stack(actions).flatten(), returns.flatten()


for update in range(1, 121):
    s, a, ret = episode_batch()
    h = trunk(s)
    value = critic(h).squeeze(1)
    logp = torch.log_softmax(actor(h), 1).gather(1, a[:, None]).squeeze(1)
    critic_loss = (ret - value).pow(2).mean()
    actor_loss = -(logp * (ret - value.detach())).mean()
    opt_critic.zero_grad()
    critic_loss.backward(retain_graph=True)
    opt_critic.step()
    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    if update % 12 == 0 or update == 1:
        print(f"update {update:3d} critic {critic_loss.item():.4f} actor {actor_loss.item():+.4f} return {ret.mean().item():.3f}")
