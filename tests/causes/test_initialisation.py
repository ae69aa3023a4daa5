"""symmetric-init, init-too-large and init-too-small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.causes.initial import rescaled
from sickbay.conclude import diagnose
from sickbay.facts import FirstLoss, Head, LinearMap, Loss, Op, Parameter, Run, Values, Weight
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, model_facts, place_in

LAYERS = ("a", "b", "c", "out")
WIDTH = 100
SOURCE = """\
for layer in net:
    if isinstance(layer, nn.Linear):
        nn.init.normal_(layer.weight)
"""
STEPS = 300
FLAT = 2.3 + np.random.default_rng(0).normal(0, 0.02, STEPS)
WILD = falling(500, 40, STEPS)


def weight(name: str, **given: Any) -> Weight:
    """As PyTorch's own layers start: values of size 1 / sqrt(3 * 100), all units different."""
    defaults: dict[str, Any] = {"shape": (WIDTH, WIDTH), "layer_kind": "Linear", "rms": 0.0577, "looked_at": (50, 100), "distinct": (50, 100)}
    return Weight(name=f"{name}.weight", **defaults | given)


def linear_map(name: str, **given: Any) -> LinearMap:
    defaults: dict[str, Any] = {"op": "linear", "inputs": WIDTH, "outputs": WIDTH, "fan_in": WIDTH, "after_map": name != "a"}
    followed = ("cross_entropy",) if name == "out" else ("relu",)
    return LinearMap(parameter=f"{name}.weight", **defaults | {"followed_by": followed} | given)


def run(
    losses: np.ndarray = FLAT,
    weights: dict[str, Any] | None = None,
    maps: dict[str, Any] | None = None,
    layers: tuple[str, ...] = LAYERS,
    signals: tuple[float, ...] = (1.0, 0.8, 0.7, 0.6),
    saturated: float | None = None,
    gradients: float = 0.1,
    head: str = "cross_entropy",
    parameters: dict[str, Any] | None = None,
    source: str = SOURCE,
) -> Record:
    frames = np.arange(0, STEPS, 30)
    families: dict[str, Any] = {
        "grad_norm": {f"{x}.weight": (frames, np.full(len(frames), gradients)) for x in layers},
    }
    if saturated is not None:
        families["activation_saturated"] = {"tanh": (frames, np.full(len(frames), saturated))}
    heads = (Head(function=head, classes=10 if head == "cross_entropy" else None, target_dtype="int64"),) if head else ()
    known = model_facts(*layers, width=WIDTH, **parameters or {})
    return make_record(
        series={"loss/train": losses},
        families=families,
        losses=[Loss(index=0, heads=heads, graph_reads=3, linear_maps=tuple(linear_map(x, **maps or {}) for x in layers))],
        weights=[weight(x, signal=s, **weights or {}) for x, s in zip(layers, signals, strict=True)],
        first_losses=[FirstLoss(function=head, value=float(losses[0]), target_rms=1.0)] if head else [],
        sources={"train.py": source},
        **known,
    )


def factors(rms: float = 1.0, spread: float = 7.0, ops: tuple[str, ...] = ("add", "sum", "mul")) -> Record:
    """Matrix factorisation: the prediction is the inner product of two embeddings, and varies by `spread` at first."""
    target, given = Values(count=99, mean=3.0, std=1.0), Values(count=99, mean=3.0, std=spread)
    head = Head(function="mse_loss", input=given, target=target, fed_by=tuple(Op(name=n) for n in ops))
    tables = [Weight(name=f"{n}.weight", shape=(300, 48), layer_kind="Embedding", rms=rms, looked_at=(60, 48), distinct=(60, 48)) for n in "ab"]
    losses = falling(48, 5, STEPS)
    first = [FirstLoss(function="mse_loss", value=48.0, target_rms=3.2)]
    return make_record(series={"loss/train": losses}, losses=[Loss(index=0, heads=(head,), graph_reads=3)], weights=tables, first_losses=first)


class TestInitTooLarge(CauseTestCase):
    cause = "init-too-large"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(WILD, {"rms": 1.0})
        yield run(falling(500, 0.5, STEPS, speed=9), {"rms": 1.0})
        yield run(falling(400, 30, STEPS), {"rms": 1.0}, head="mse_loss")
        yield run(FLAT, {"rms": 1.0}, {"followed_by": ("tanh",)}, saturated=0.9)
        yield run(np.r_[5e4, 6e11, 6.0, 2.3 + 0.01 * np.random.default_rng(0).standard_normal(STEPS - 3)], {"rms": 1.0})
        yield run(falling(60, 2.0, STEPS, speed=200), {"rms": 1.0})  # soon back, but it started at 26 times guessing and was never solved
        yield factors()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a wild first loss with weights of the right size: the inputs are unscaled", run(WILD)
        yield "large weights behind which everything is normalised", run(WILD, {"rms": 1.0}, {"followed_by": ("layer_norm",)})
        yield "large weights, but the loss starts where guessing is", run(falling(2.5, 0.1, STEPS), {"rms": 1.0})
        yield "a wild start that is made good within a few steps", run(falling(60, 0.2, STEPS, speed=200), {"rms": 1.0})
        yield "loaded weights", run(WILD, {"rms": 1.0}, parameters={"loaded": True})
        yield "embeddings of the usual size that are not multiplied", factors(ops=("linear", "cat"))
        yield "factors whose product is of the targets' size", factors(rms=0.2, spread=0.3)
        yield "targets that are far from zero", factors(spread=0.9)
        yield "He weights", run(falling(4.0, 0.2, STEPS), {"rms": 0.141})


class TestInitTooSmall(CauseTestCase):
    cause = "init-too-small"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(FLAT, {"rms": 0.001}, signals=(1e-2, 1e-4, 1e-6, 1e-8))
        yield run(falling(1.0, 0.2, STEPS), {"rms": 0.001}, signals=(1e-2, 1e-4, 1e-6, 1e-8), head="")
        yield capsules()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "weights of the right size, a tiny learning rate", run(FLAT)
        yield "GPT's 0.02 and smaller with layer norm", run(FLAT, {"rms": 0.005}, {"followed_by": ("layer_norm",)}, signals=(1, 1, 1, 1))
        yield "residual branches", run(FLAT, {"rms": 0.005}, {"followed_by": ("add",)}, signals=(1e-2, 1e-4, 1e-6, 1e-8))
        yield "small weights that learn all the same", run(falling(2.3, 0.01, STEPS), {"rms": 0.001}, signals=(1e-2, 1e-4, 1e-6, 1e-8))
        yield "small weights, but the signal arrives (biases carry it)", run(FLAT, {"rms": 0.005})
        yield "one tiny matrix that learns", capsules(losses=falling(2.3, 0.5, STEPS), moves=1e-3)
        yield "one small matrix of many values", capsules(rms=0.02)
        yield "one tiny matrix beside weights that move", capsules(moves=1e-3)
        yield "zero weights are symmetric-init's", run(FLAT, {"rms": 0.0}, signals=(0, 0, 0, 0))


def capsules(rms: float = 1e-4, losses: np.ndarray = FLAT, moves: float = 1e-7) -> Record:
    """One matrix of the user's own, used in a way that is no linear layer."""
    frames = np.arange(0, STEPS, 15)
    ratios = {"caps.W": (frames, np.full(len(frames), moves)), "conv.weight": (frames, np.full(len(frames), moves))}
    weights = [weight("conv"), Weight(name="caps.W", shape=(54, 10, 4, 8), layer_kind="Capsules", rms=rms)]
    return make_record(
        series={"loss/train": losses, "lr": np.full(STEPS, 0.004)}, families={"update_ratio": ratios}, weights=weights, **model_facts("conv", "caps")
    )


def same(later: tuple[int, int], **given: Any) -> dict[str, Any]:
    return {"distinct": (1, 1), "distinct_later": later, "later_step": STEPS, "moved": True, "rms": 0.05, "mean": 0.05} | given


class TestSymmetricInit(CauseTestCase):
    cause = "symmetric-init"

    def sick(self) -> Iterable[Record]:
        yield run(weights=same((1, 90)))
        yield run(falling(2.3, 0.3, STEPS), weights=same((1, 90)))
        yield run(weights=same((50, 1)), maps={"unit_axis": 1, "op": "matmul"})
        yield run(weights=same((1, 1), rms=0.0, moved=False), gradients=0.0)
        yield run(weights={"twin": "x.weight", "twin_later": True, "moved": True, "later_step": STEPS})
        yield lstm(distinct_later=(4, 90))
        yield table(distinct_later=(40, 1))
        yield adapters(0.0)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "zero or constant weights that come apart", run(weights=same((50, 90)))
        yield "only the inputs are treated alike", run(weights=same((50, 1)))
        yield "no optimizer trains them", run(weights=same((1, 90)), parameters={"optimizer": None})
        yield "too early to say", run(weights=same((1, 90), later_step=5))
        yield "copied blocks in a row come apart", run(weights={"twin": "x.weight", "twin_later": False, "moved": True, "later_step": STEPS})
        yield "trained anew from the same seed", begun_later()
        yield "zero branches that get a gradient", run(weights=same((1, 1), rms=0.0, moved=False), gradients=0.1)
        yield "adapters of which one half is random", adapters(0.1, down=0.1)
        yield "two zero matrices that are not multiplied", adapters(0.0, shapes=((4, 64), (32, 10)))
        yield "a recurrent layer whose units differ", lstm(distinct_later=(50, 90))
        yield "an embedding that starts at zero and comes apart", table(distinct_later=(40, 8))


def begun_later() -> Record:
    """Each weight starts as a copy of one that was trained before it."""
    record = run(weights={"twin": "x.weight", "twin_later": True, "moved": True, "step": 100, "later_step": STEPS})
    return replace(record, facts=replace(record.facts, weights=(*record.facts.weights, Weight(name="x.weight"))))


def adapters(gradient: float, down: float = 0.0, shapes: tuple[tuple[int, int], tuple[int, int]] = ((4, 64), (128, 4))) -> Record:
    """A low-rank correction, up @ down."""
    sizes = {"net.down": (shapes[0], down), "net.up": (shapes[1], 0.0)}
    weights = [Weight(name=n, shape=s, layer_kind="AdapterLinear", rms=r, looked_at=(4, 4), distinct=(1, 1)) for n, (s, r) in sizes.items()]
    family = {n: (np.array([20, 200]), np.array([gradient, gradient])) for n in sizes}
    return make_record(series={"loss/train": FLAT}, weights=weights, families={"grad_norm": family}, steps=STEPS)


def table(**given: Any) -> Record:
    """An embedding of eight numbers for each of many users."""
    known = same((40, 1)) | {"layer_kind": "Embedding", "looked_at": (60, 8), "distinct": (1, 1), **given}
    p = Parameter(
        name="user.weight", shape=(300, 8), size=2400, layer="user", layer_kind="Embedding", optimizer=0, reached=True, moved=True, called=True
    )
    return make_record(
        series={"loss/train": FLAT}, parameters=[p], weights=[replace(weight("user", **known), name="user.weight", shape=(300, 8))], steps=STEPS
    )


def lstm(**given: Any) -> Record:
    known = same((4, 90)) | {"layer_kind": "LSTM", "looked_at": (64, 100), "distinct": (1, 1), **given}
    p = Parameter(name="r.weight_hh_l0", shape=(400, 100), size=40_000, layer="r", layer_kind="LSTM", optimizer=0, reached=True, moved=True)
    return make_record(
        series={"loss/train": FLAT}, parameters=[p], weights=[replace(weight("r", **known), name="r.weight_hh_l0", shape=(400, 100))], steps=STEPS
    )


def test_the_line_of_the_call_and_the_fix() -> None:
    record = run(WILD, {"rms": 1.0, "set_by": "normal_", "set_by_user": True, "set_at": place_in(SOURCE, "normal_")})
    suspicion = assert_suspects(record, "init-too-large")
    assert suspicion.place == place_in(SOURCE, "normal_")
    assert added(suspicion.fix.diff) == ["        nn.init.kaiming_normal_(layer.weight)"]


def test_the_line_of_a_fill_in_place() -> None:
    source = "net = Net()\nfor p in net.parameters():\n    p.data.normal_(0, 3)\nfor p in net.parameters():\n    p.data -= lr * p.grad\n"
    assert assert_suspects(run(WILD, {"rms": 3.0}, source=source), "init-too-large").place == place_in(source, "normal_")


def test_of_several_fills_the_one_for_this_kind_of_layer() -> None:
    source = """\
for m in net.modules():
    if isinstance(m, nn.Conv2d):
        m.weight.data.normal_(0, 0.02)
    elif isinstance(m, (nn.Linear, nn.Bilinear)):
        m.weight.data.normal_(0, 3)
"""
    assert assert_suspects(run(WILD, {"rms": 3.0}, source=source), "init-too-large").place == place_in(source, "normal_(0, 3)")


@pytest.mark.parametrize(
    ("fill", "line"),
    [
        ("p.data.uniform_(-bound, bound)", 2),
        ("p.data.normal_(0, 3)", 3),
        ("nn.init.uniform_(p, -bound, bound)", 3),
    ],
)
def test_the_line_of_the_formula_that_a_fill_uses(fill: str, line: int) -> None:
    source = f"def init(p, n):\n    bound = 30 * n ** 0.5\n    {fill}\n"
    place = assert_suspects(run(WILD, {"rms": 3.0}, source=source), "init-too-large").place
    assert place is not None and place.line == line and place.guess == (line == 2)


def test_the_line_of_a_tensor_of_the_users_own() -> None:
    source = "W1 = torch.randn(100, 100)\nW2 = torch.randn(100, 10)\n"
    record = run(WILD, layers=("W1",), signals=(1.0,), source=source)
    p, w = record.facts.parameters[0], record.facts.weights[0]
    m = replace(record.facts.losses[0].linear_maps[0], parameter="W1")
    record = make_record(
        series={"loss/train": WILD},
        parameters=[replace(p, name="W1", layer="", layer_kind="", in_model=False)],
        weights=[replace(w, name="W1", rms=1.0, layer_kind="")],
        losses=[replace(record.facts.losses[0], linear_maps=(m,))],
        sources={"train.py": source},
        run=Run(steps=STEPS, backwards=STEPS, manual_updates=True, finished=True),
    )
    suspicion = assert_suspects(record, "init-too-large")
    assert suspicion.place == place_in(source, "W1")
    assert added(suspicion.fix.diff) == ["W1 = torch.randn(100, 100) / 100 ** 0.5"]


def test_what_follows_from_it_is_folded() -> None:
    record = run(FLAT, {"rms": 0.001}, signals=(1e-2, 1e-4, 1e-6, 1e-8), gradients=1e-9)
    causes = [s.cause for s in diagnose(record).causes]
    assert causes[0] == "init-too-small" and not {"lr-too-low", "vanishing-gradient"} & set(causes)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("w = torch.zeros(n, m, requires_grad=True)", "w = (torch.randn(n, m) / n ** 0.5).requires_grad_()"),
        ("w = nn.Parameter(torch.zeros(a.rank, b))", "w = nn.Parameter(torch.randn(a.rank, b) / a.rank ** 0.5)"),
        ("w = torch.ones(2 * n, m, device=d)", "w = torch.randn(2 * n, m, device=d) / (2 * n) ** 0.5"),
        ("w = torch.zeros(n)", None),
        ("w = torch.randn(n, m) * 0.1", None),
    ],
)
def test_matrices_are_drawn_by_the_number_of_their_inputs(line: str, new: str | None) -> None:
    record = make_record(sources={"train.py": f"{line}\n"})
    assert added(rescaled(record, Place("train.py", 1))) == ([new] if new is not None else [])
