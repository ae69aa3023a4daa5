"""Small training programs of every kind. Each yields its losses and, at the end, all its weights: everything that must be
the same to the last bit whether or not somebody watches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

Program = Callable[[], Iterator[torch.Tensor]]
PROGRAMS: dict[str, Program] = {}
STEPS = 6


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def blobs(n: int = 24, features: int = 8, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n, features), torch.randint(0, classes, (n,))


def mlp(features: int = 8, classes: int = 3, *extra: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, 16), nn.ReLU(), *extra, nn.Linear(16, classes))


def weights(*modules: nn.Module) -> Iterator[torch.Tensor]:
    for module in modules:
        yield from (v.detach().clone() for v in module.state_dict().values())


@program
def mlp_with_adam() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        yield nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        yield loss.detach()
    yield from weights(model)


class Pictures(Dataset):  # type: ignore[type-arg]
    """Augments with numpy's and Python's generators, as people do."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        picture = torch.randn(1, 6, 6, generator=torch.Generator().manual_seed(i))
        return picture + random.random() * 0.01 + float(np.random.rand()) * 0.01, i % 3


def cnn() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(64, 3))


def train_cnn(workers: int) -> Iterator[torch.Tensor]:
    model = cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    train = DataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=workers)
    for _ in range(2):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            yield loss.detach()
        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(Pictures(), batch_size=8):
                yield criterion(model(x), y)
    yield from weights(model)


@program
def cnn_with_batch_norm_and_dropout() -> Iterator[torch.Tensor]:
    yield from train_cnn(workers=0)


@program
def cnn_with_loader_workers() -> Iterator[torch.Tensor]:
    yield from train_cnn(workers=2)


@program
def lstm() -> Iterator[torch.Tensor]:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 6)
            self.lstm = nn.LSTM(6, 8, num_layers=2, dropout=0.2, batch_first=True)
            self.out = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden, _ = self.lstm(self.embed(x))
            return self.out(hidden)

    model = Tagger()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        x = torch.randint(0, 11, (4, 5))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).transpose(1, 2), x % 4)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()
        yield loss.detach()
    yield from weights(model)


@program
def transformer_encoder_with_validation() -> Iterator[torch.Tensor]:
    """In eval mode torch has a fast path of its own with other rounding: it has to be taken with and without us."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    attention = nn.MultiheadAttention(16, 2, batch_first=True)
    head = nn.Linear(16, 2)
    parts = nn.ModuleList([encoder, attention, head])
    optimizer = torch.optim.AdamW(parts.parameters(), lr=1e-3)

    def output(x: torch.Tensor, padding: torch.Tensor | None = None) -> torch.Tensor:
        hidden = encoder(x, src_key_padding_mask=padding)
        return head(attention(hidden, hidden, hidden, need_weights=False)[0].mean(1))

    for _ in range(STEPS):
        x, y = torch.randn(4, 5, 16), torch.randint(0, 2, (4,))
        optimizer.zero_grad()
        loss = F.cross_entropy(output(x), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
        parts.eval()
        with torch.no_grad():
            yield output(x)
            padding = torch.zeros(4, 5, dtype=torch.bool)
            padding[:, 3:] = True
            yield encoder(x, src_key_padding_mask=padding)
        parts.train()
    yield from weights(parts)


@program
def frozen_transformer_backbone() -> Iterator[torch.Tensor]:
    """With gradients on, but none required by the backbone, the fast path is taken too."""
    backbone = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval().requires_grad_(False)
    head = nn.Linear(16, 2)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(STEPS):
        x, y = torch.randn(4, 5, 16), torch.randint(0, 2, (4,))
        optimizer.zero_grad()
        features = backbone(x)
        yield features.clone()
        loss = F.cross_entropy(head(features.mean(1)), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(backbone, head)


@program
def gan_with_two_optimizers() -> Iterator[torch.Tensor]:
    generator, critic = mlp(4, 2, nn.BatchNorm1d(16)), mlp(2, 1, nn.Dropout(0.2))
    of_generator = torch.optim.Adam(generator.parameters(), 2e-4, betas=(0.5, 0.999))
    of_critic = torch.optim.Adam(critic.parameters(), 2e-4)
    for _ in range(STEPS):
        real, noise = torch.randn(8, 2), torch.randn(8, 4)
        of_critic.zero_grad()
        with torch.no_grad():
            fake = generator(noise)
        score = critic(torch.cat([real, fake]))
        loss = F.binary_cross_entropy_with_logits(score, torch.cat([torch.ones(8, 1), torch.zeros(8, 1)]))
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        other = F.binary_cross_entropy_with_logits(critic(generator(noise)), torch.ones(8, 1))
        other.backward()
        of_generator.step()
        yield loss.detach()
        yield other.detach()
    yield from weights(generator, critic)


@program
def lbfgs_with_closure() -> Iterator[torch.Tensor]:
    x = torch.randn(20, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5])
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    losses = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        losses.append(loss.detach())
        return loss

    for _ in range(3):
        yield optimizer.step(closure).detach()
    yield from losses
    yield from weights(model)


@program
def gradient_accumulation() -> Iterator[torch.Tensor]:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(4 * STEPS):
        x, y = blobs(6)
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
        yield loss.detach()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    yield from weights(model)


@program
def sgd_by_hand() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    for _ in range(20):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                assert p.grad is not None
                p -= 0.1 * p.grad
                p.grad.zero_()
        yield loss.detach()
    yield from weights(model)


@program
def functional_parameters() -> Iterator[torch.Tensor]:
    x, y = blobs()
    w1 = (torch.randn(8, 16) * 0.1).requires_grad_()
    w2 = (torch.randn(16, 3) * 0.1).requires_grad_()
    optimizer = torch.optim.SGD([w1, w2], lr=0.1)
    for _ in range(STEPS):
        loss = -(torch.relu(x @ w1) @ w2).log_softmax(1)[torch.arange(len(y)), y].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from (w1.detach(), w2.detach())


@program
def functional_call_and_func_grad() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    parameters = {k: v.detach() for k, v in model.named_parameters()}

    def loss_of(p: dict[str, torch.Tensor]) -> torch.Tensor:
        return F.cross_entropy(torch.func.functional_call(model, p, (x,)), y)

    for _ in range(STEPS):
        gradients, loss = torch.func.grad_and_value(loss_of)(parameters)
        parameters = {k: v - 0.1 * gradients[k] for k, v in parameters.items()}
        yield loss.detach()
    per_sample = torch.func.vmap(torch.func.grad(lambda w, v: (v @ w).tanh().sum()), in_dims=(None, 0))(torch.randn(8, 2), x)
    yield per_sample
    yield from parameters.values()


@program
def gradient_penalty() -> Iterator[torch.Tensor]:
    critic = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), 1e-3)
    for _ in range(STEPS):
        x = torch.randn(8, 4, requires_grad=True)
        score = critic(x)
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        loss = score.mean() + 10 * ((slope.norm(dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(critic)


@program
def sparse_embedding() -> Iterator[torch.Tensor]:
    table, out = nn.EmbeddingBag(30, 6, mode="sum", sparse=True), nn.Linear(6, 1)
    lazy, dense = torch.optim.SparseAdam(list(table.parameters()), 1e-2), torch.optim.SGD(out.parameters(), 1e-2)
    for _ in range(STEPS):
        words = torch.randint(0, 30, (4, 3))
        loss = F.mse_loss(out(table(words)), words.float().mean(1, keepdim=True))
        for optimizer in (lazy, dense):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (lazy, dense):
            optimizer.step()
        yield loss.detach()
    yield from weights(table, out)


@program
def autocast_with_scaler() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        yield loss.detach()
    yield from weights(model)


@program
def working_scaler() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 1e-1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120, growth_interval=2)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss * 1e3).backward()
        scaler.step(optimizer)
        scaler.update()
        yield loss.detach()
        yield torch.tensor(scaler.get_scale())
    yield from weights(model)


@program
def double_backward() -> Iterator[torch.Tensor]:
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        x = torch.randn(6, 3, requires_grad=True)
        model(x).sum().backward(create_graph=True, inputs=[x])
        assert x.grad is not None
        loss = (x.grad**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.detach()
        del x
    yield from weights(model)


@program
def reptile_inner_loop() -> Iterator[torch.Tensor]:
    """Meta-learning: weights updated inside the graph."""
    w = torch.randn(4, 1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    for _ in range(STEPS):
        x = torch.randn(8, 4)
        inner = ((x @ w) ** 2).mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        outer = ((x @ (w - 0.1 * g) - 1) ** 2).mean()
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        yield outer.detach()
    yield w.detach()


def scripted_loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(x, y) + torch.nn.functional.mse_loss(x, torch.zeros_like(x))


@program
def scripted_function_with_a_loss() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.jit.script(scripted_loss)
    for i in range(STEPS):
        optimizer.zero_grad()
        loss = compiled(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
        if i == 2:
            traced = torch.jit.trace(model, x)
            yield traced(x).detach()
    yield from weights(model)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradients[0] * (x.abs() < 1)


@program
def custom_autograd_function() -> Iterator[torch.Tensor]:
    x, y = blobs()
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(second(Straight.apply(first(x))), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(first, second)


@program
def device_context_around_the_model() -> Iterator[torch.Tensor]:
    with torch.device("cpu"):
        model = mlp()
    x, y = blobs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(model)


@program
def device_context_inside_each_step() -> Iterator[torch.Tensor]:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(STEPS):
        with torch.device("cpu"):
            x, y = blobs()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if i % 2:
                loss.backward()
        if not i % 2:
            loss.backward()
        with torch.device("cpu"):
            optimizer.step()
        assert torch._C._len_torch_function_stack() <= 1  # ours at most
        yield loss.detach()
    yield from weights(model)


@program
def device_context_around_everything() -> Iterator[torch.Tensor]:
    with torch.device("meta"), torch.device("cpu"):
        yield from mlp_with_adam()


@program
def default_device() -> Iterator[torch.Tensor]:
    torch.set_default_device("cpu")
    try:
        yield from mlp_with_adam()
    finally:
        torch.set_default_device(None)


@program
def default_device_changed_on_the_way() -> Iterator[torch.Tensor]:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for i in range(STEPS):
            x, y = blobs()
            if i == 1:
                torch.set_default_device("cpu")
            if i == 4:
                torch.set_default_device(None)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if i == 2:
                torch.set_default_device(None)
            loss.backward()
            optimizer.step()
            yield loss.detach()
    finally:
        torch.set_default_device(None)
    yield from weights(model)


@program
def retained_graph() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        output = model(x)
        loss = F.cross_entropy(output, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        (output**2).mean().backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(model)


@program
def several_losses_in_a_step() -> Iterator[torch.Tensor]:
    trunk, first, second = nn.Linear(8, 16), nn.Linear(16, 3), nn.Linear(16, 1)
    modules = nn.ModuleList([trunk, first, second])
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
    for _ in range(STEPS):
        x, y = blobs()
        hidden = torch.tanh(trunk(x))
        losses = [F.cross_entropy(first(hidden), y), F.l1_loss(second(hidden).squeeze(1), x.sum(1))]
        optimizer.zero_grad()
        torch.autograd.backward(losses)
        F.smooth_l1_loss(second(torch.tanh(trunk(x))).squeeze(1), x.sum(1)).backward()
        optimizer.step()
        yield from (loss.detach() for loss in losses)
    yield from weights(modules)


@program
def hooks_checkpointing_and_parametrizations() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp(8, 3, nn.utils.parametrizations.weight_norm(nn.Linear(16, 16)), nn.utils.parametrizations.spectral_norm(nn.Linear(16, 16)))
    seen: list[torch.Tensor] = []
    model[0].register_full_backward_hook(lambda m, i, o: seen.append(o[0].norm()))
    model[1].register_forward_hook(lambda m, i, o: o * 1.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        hidden = torch.utils.checkpoint.checkpoint(model[:3], x, use_reentrant=False)
        loss = F.cross_entropy(model[3:](hidden), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from seen
    yield from weights(model)


@program
def weight_average_and_batch_norm_update() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp(8, 3, nn.BatchNorm1d(16))
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    for _ in range(2):
        for a, b in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(a), b)
            loss.backward()
            optimizer.step()
            yield loss.detach()
        average.update_parameters(model)
    torch.optim.swa_utils.update_bn(loader, average)
    yield from weights(model, average)


@program
def nonfinite_loss() -> Iterator[torch.Tensor]:
    x, y = blobs()
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for i in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x if i < 3 else x * float("inf")), y)
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from weights(model)


@program
def complex_and_integer_tensors() -> Iterator[torch.Tensor]:
    w = torch.randn(4, 4, dtype=torch.complex64, requires_grad=True)
    scale = torch.ones((), requires_grad=True)
    empty = torch.zeros(0, 3, requires_grad=True)
    optimizer = torch.optim.SGD([w, scale, empty], lr=0.05)
    for _ in range(STEPS):
        x = torch.randn(5, 4, dtype=torch.complex64)
        loss = ((x @ w).abs() ** 2).mean() * scale + empty.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from (w.detach(), scale.detach())
