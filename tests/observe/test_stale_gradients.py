"""Old gradients that are still there when new ones are added, and the many ways of clearing them that are fine."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

LOOP = """
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(40):
    BEFORE
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    AFTER
"""


def loop(before: str = "pass", after: str = "pass") -> str:
    return LOOP.replace("BEFORE", before.replace("\n", "\n    ")).replace("AFTER", after.replace("\n", "\n    "))


HEALTHY = {
    "at the start": loop("optimizer.zero_grad()"),
    "at the end": loop(after="optimizer.zero_grad()"),
    "through the model": loop("model.zero_grad()"),
    "set to zero": loop("optimizer.zero_grad(set_to_none=False)"),
    "None by hand": loop("for p in model.parameters(): p.grad = None"),
    "zeroed by hand": loop("for p in model.parameters():\n    if p.grad is not None: p.grad.zero_()"),
    "filled by hand after": loop(after="for p in model.parameters(): p.grad.data.fill_(0)"),
    "foreach": loop(after="torch._foreach_zero_([p.grad for p in model.parameters()])"),
    "with a scheduler": loop("optimizer.zero_grad()", "optimizer.param_groups[0]['lr'] *= 0.9"),
    "accumulation": """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(60):
            loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))) / 4
            loss.backward()
            if (step + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    """,
    "accumulation cleared by hand": """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(80):
            if step % 4 == 0:
                for p in model.parameters():
                    p.grad = None
            (F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))) / 4).backward()
            if (step + 1) % 4 == 0:
                optimizer.step()
    """,
    "GAN": """
        G, D = nn.Linear(3, 2), nn.Linear(2, 1)
        opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
        for step in range(30):
            opt_d.zero_grad()
            fake = G(torch.randn(8, 3))
            (F.softplus(-D(torch.randn(8, 2))).mean() + F.softplus(D(fake.detach())).mean()).backward()
            opt_d.step()
            opt_g.zero_grad()
            F.softplus(-D(fake)).mean().backward()
            opt_g.step()
    """,
    "two optimizers after one backward, cleared by hand": """
        a, b = nn.Linear(4, 4), nn.Linear(4, 3)
        first, second = torch.optim.SGD(a.parameters(), lr=0.05), torch.optim.SGD(b.parameters(), lr=0.05)
        for step in range(60):
            for p in [*a.parameters(), *b.parameters()]:
                p.grad = None
            F.cross_entropy(b(a(torch.randn(8, 4))), torch.randint(0, 3, (8,))).backward()
            first.step()
            second.step()
    """,
    "part by part": loop("model[0].zero_grad(); model[2].zero_grad()"),
    "part by part, to zero": loop("model[0].zero_grad(set_to_none=False); model[2].zero_grad(set_to_none=False)"),
    "closure": """
        x = torch.randn(20, 3)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        def closure():
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss
        for step in range(5):
            optimizer.step(closure)
    """,
    "master weights that are given their gradients": """
        model = nn.Linear(4, 3).to(torch.bfloat16)
        masters = [p.detach().float().requires_grad_() for p in model.parameters()]
        optimizer = torch.optim.SGD(masters, lr=0.05)
        for step in range(40):
            F.cross_entropy(model(torch.randn(8, 4, dtype=torch.bfloat16)).float(), torch.randint(0, 3, (8,))).backward()
            with torch.no_grad():
                for master, p in zip(masters, model.parameters()):
                    master.grad, p.grad = p.grad.float(), None
            optimizer.step()
            with torch.no_grad():
                for master, p in zip(masters, model.parameters()):
                    p.copy_(master)
    """,
    "gradients of each sample, written back": """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(40):
            kept = [torch.zeros_like(p) for p in model.parameters()]
            x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
            for i in range(8):
                for p in model.parameters():
                    p.grad = None
                F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
                for total, p in zip(kept, model.parameters()):
                    total += p.grad.clamp(-1, 1) / 8
            for total, p in zip(kept, model.parameters()):
                p.grad = total
            optimizer.step()
    """,
    "sparse": """
        table = nn.Embedding(20, 4, sparse=True)
        optimizer = torch.optim.SparseAdam(list(table.parameters()))
        for step in range(20):
            optimizer.zero_grad()
            table(torch.randint(0, 20, (6,))).pow(2).mean().backward()
            optimizer.step()
    """,
}


EVERY_STEP = ("zeroed by hand", "accumulation cleared by hand", "GAN", "two optimizers after one backward, cleared by hand")


@pytest.mark.parametrize(("name", "detail"), [*((name, 2) for name in HEALTHY), *((name, 1000) for name in EVERY_STEP)])
def test_healthy_ways(name: str, detail: int, script: WatchScript) -> None:
    run = script(HEALTHY[name], detail_steps=detail)
    for optimizer in run.facts.optimizers:
        assert optimizer.stale_intervals == 0, optimizer
        assert optimizer.steps >= 5
        assert optimizer.intervals >= 1 or optimizer.closure


def test_missing_zero_grad(script: WatchScript) -> None:
    run = script(loop())
    (optimizer,) = run.facts.optimizers
    assert (optimizer.steps, optimizer.intervals, optimizer.stale_intervals, optimizer.zero_calls) == (40, 39, 39, 0)
    assert (optimizer.stale_first, optimizer.stale_last) == (1, 39)
    assert optimizer.stale_norm > 0
    assert optimizer.variable == "optimizer"
    assert run.at(optimizer.built_at, "torch.optim.SGD")
    assert run.at(optimizer.stepped_at, "optimizer.step()")
    assert optimizer.zeroed_at is None


def test_missing_zero_grad_is_seen_without_sampling_too(script: WatchScript) -> None:
    (optimizer,) = script(loop(), detail_steps=1).facts.optimizers
    assert optimizer.intervals >= 16
    assert optimizer.stale_intervals == optimizer.intervals


def test_cleared_once_per_epoch(script: WatchScript) -> None:
    run = script(loop("if step % 10 == 0: optimizer.zero_grad()"))
    (optimizer,) = run.facts.optimizers
    assert (optimizer.intervals, optimizer.stale_intervals, optimizer.zero_calls) == (39, 36, 3)
    assert run.at(optimizer.zeroed_at, "optimizer.zero_grad()")


def test_cleared_before_the_loop_only(script: WatchScript) -> None:
    run = script(loop().replace("for step", "optimizer.zero_grad()\nfor step"))
    (optimizer,) = run.facts.optimizers
    assert (optimizer.stale_intervals, optimizer.zero_calls) == (39, 0)


def test_the_wrong_optimizer_is_cleared(script: WatchScript) -> None:
    run = script(
        """
        a, b = nn.Linear(4, 4), nn.Linear(4, 3)
        first, second = torch.optim.SGD(a.parameters(), lr=0.05), torch.optim.SGD(b.parameters(), lr=0.05)
        for step in range(20):
            first.zero_grad(); first.zero_grad()
            F.cross_entropy(b(a(torch.randn(8, 4))), torch.randint(0, 3, (8,))).backward()
            first.step(); second.step()
        """
    )
    one, other = run.facts.optimizers
    assert (one.variable, other.variable) == ("first", "second")
    assert (one.stale_intervals, other.stale_intervals) == (0, 19)


def test_zero_grad_after_backward_leaves_empty_steps(script: WatchScript) -> None:
    run = script(
        LOOP.replace("    optimizer.step()", "    optimizer.zero_grad()\n    optimizer.step()").replace("BEFORE", "pass").replace("AFTER", "pass")
    )
    (optimizer,) = run.facts.optimizers
    assert optimizer.stale_intervals == 0
    assert optimizer.empty_steps == 40


def test_only_a_part_is_cleared(script: WatchScript) -> None:
    """`model.zero_grad()` with a parameter outside the model: that one goes on summing."""
    run = script(
        """
        model = nn.Linear(4, 3)
        temperature = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=0.05)
        for step in range(20):
            model.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)) * temperature, torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    (optimizer,) = run.facts.optimizers
    assert optimizer.stale_intervals == 19
    assert optimizer.stale_parameters == ("temperature",)
