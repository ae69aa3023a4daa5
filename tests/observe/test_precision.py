"""Autocast, loss scaling, and what half precision loses."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

HEAD = """
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler('cpu')
def batch(): return torch.randn(8, 6), torch.randint(0, 3, (8,))
for step in range(12):
    x, y = batch()
    optimizer.zero_grad()
    with torch.autocast('cpu', dtype=torch.TYPE):
        loss = F.cross_entropy(model(x), y) * FACTOR
"""
SCALED = "    scaler.scale(loss).backward()\n"
STEP = "    scaler.step(optimizer)\n    scaler.update()\n"
PLAIN = "    loss.backward()\n    optimizer.step()\n"
CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"


def program(rest: str, kind: str = "float16", factor: str = "1.0") -> str:
    return HEAD.replace("TYPE", kind).replace("FACTOR", factor) + rest


def test_in_good_order(script: WatchScript) -> None:
    run = script(program(SCALED + "    scaler.unscale_(optimizer)\n" + CLIP + STEP))
    p = run.facts.precision
    assert (p.autocast, p.autocast_steps, p.scaler, p.scaled_backwards, p.plain_backwards) == ("float16", 12, True, 12, 0)
    assert (p.scaler_steps, p.skipped, p.raw_steps, p.clips_scaled, p.first_scale) == (12, 0, 0, 0, 65536.0)
    assert run.at(p.autocast_at, "torch.autocast(")


def test_clipped_while_scaled(script: WatchScript) -> None:
    run = script(program(SCALED + CLIP + STEP))
    assert run.facts.precision.clips_scaled == 12
    assert run.at(run.facts.precision.clip_at, "clip_grad_norm_(")


def test_stepped_past_the_scaler(script: WatchScript) -> None:
    p = script(program(SCALED + "    optimizer.step()\n    scaler.update()\n".replace("    scaler.update()\n", ""))).facts.precision
    assert p.raw_steps == 12


def test_a_backward_that_was_not_scaled(script: WatchScript) -> None:
    p = script(program("    scaler.scale(loss)\n    loss.backward()\n" + STEP)).facts.precision
    assert (p.plain_backwards, p.scaled_backwards, p.scaler_steps) == (12, 0, 12)


def test_one_of_two_losses_is_not_scaled(script: WatchScript) -> None:
    run = script(program("    other = model(x).square().mean()\n" + SCALED + "    other.backward()\n" + STEP))
    assert run.facts.precision.mixed_steps >= 3
    assert run.at(run.facts.precision.mixed_at, "other.backward()")


def test_losses_of_two_models_one_with_a_scaler(script: WatchScript) -> None:
    critic = "    other = critic(x).square().mean()\n    critic_optimizer.zero_grad()\n    other.backward()\n    critic_optimizer.step()\n"
    made = "critic = nn.Linear(6, 1)\ncritic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)\n"
    for steps in (critic + SCALED + STEP, SCALED + critic.replace("    critic_optimizer.step()\n", "") + STEP + "    critic_optimizer.step()\n"):
        assert script(made + program(steps)).facts.precision.mixed_steps == 0


def test_skipped_steps(script: WatchScript) -> None:
    p = script(program(SCALED + "    model[0].weight.grad[0, 0] = float('inf')\n" + STEP)).facts.precision
    assert (p.scaler_steps, p.skipped, p.skipped_late) == (12, 12, 6)
    assert p.last_scale < p.first_scale


def test_a_scaler_that_is_off(script: WatchScript) -> None:
    p = script(program(SCALED + CLIP + STEP).replace("GradScaler('cpu')", "GradScaler('cpu', enabled=False)")).facts.precision
    assert (p.scaler, p.clips_scaled, p.scaler_steps) == (False, 0, 0)


def test_underflow(script: WatchScript) -> None:
    lost, fine = (script(program(PLAIN, factor=f)).facts.precision for f in ("1e-8", "1.0"))
    assert lost.zero_share == 1.0 and fine.zero_share < 0.1
    assert lost.tiny_share == 1.0 and fine.tiny_share < 0.5


BRANCHES = """
trunk, small, large = nn.Linear(6, 32), nn.Linear(32, 256), nn.Linear(32, 4)
parts = nn.ModuleList([trunk, small, large])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
for step in range(16):
    x = torch.randn(64, 6)
    with torch.autocast('cpu', dtype=torch.float16):
        h = torch.tanh(trunk(x))
        one, two = small(h), large(h)
    loss = SHARE * one.float().pow(2).mean() + two.float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_branch_whose_gradients_are_little_more_than_rounding(script: WatchScript) -> None:
    lost, fine = (script(BRANCHES.replace("SHARE", share)).facts.precision for share in ("5e-4", "1.0"))
    assert [name.rpartition(".")[0][-1] for name in lost.coarse] == ["1"]
    assert fine.coarse == ()


def test_bfloat16_is_told_and_not_measured(script: WatchScript) -> None:
    p = script(program(PLAIN, kind="bfloat16")).facts.precision
    assert (p.autocast, p.zero_share, p.lost_share) == ("bfloat16", None, None)


@pytest.mark.parametrize(("rate", "lost"), [(1e-5, (0.9, 1.0)), (1.0, (0.0, 0.5))])
def test_updates_below_the_spacing(rate: float, lost: tuple[float, float], script: WatchScript) -> None:
    p = script(
        f"""
        model = nn.Linear(6, 3).to(torch.bfloat16)
        optimizer = torch.optim.SGD(model.parameters(), lr={rate})
        for step in range(12):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 6).bfloat16()).float(), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    ).facts.precision
    assert p.weights == "bfloat16" and lost[0] <= p.lost_share <= lost[1]


def test_an_epsilon_that_is_zero(script: WatchScript) -> None:
    text = "model = nn.Linear(6, 3).half()\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nfor i in range(3):\n"
    text += "    optimizer.zero_grad(); model(torch.randn(8, 6).half()).float().pow(2).mean().backward(); optimizer.step()"
    p = script(text).facts.precision
    assert (p.weights, p.epsilon) == ("float16", 1e-8)


def test_full_precision_has_nothing_to_tell(script: WatchScript) -> None:
    p = script(
        "model = nn.Linear(2, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nmodel(torch.ones(3, 2)).mean().backward()\nopt.step()"
    ).facts.precision
    assert (p.autocast, p.weights, p.scaler, p.plain_backwards) == ("", "", False, 0)
