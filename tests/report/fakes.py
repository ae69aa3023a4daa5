"""Runs made by hand, for drawing: each function gives a diagnosis and the record it was made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sickbay.facts import (
    Crash,
    Environment,
    Facts,
    Head,
    Layer,
    Loader,
    Loss,
    Model,
    Op,
    Optimizer,
    OptimizerGroup,
    Parameter,
    Run,
)
from sickbay.nouns import Diagnosis, Evidence, Family, Fix, NotChecked, Place, RunSummary, Series, Sign, Suspicion
from sickbay.record.reader import Record

CWD = "/home/ada/digits"
MODEL_SOURCE = '''"""A small classifier of digits."""

import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden=50):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=3)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=3)
        self.fc1 = nn.Linear(320, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.fc2(x), dim=1)
'''
TRAIN_SOURCE = """import torch
from net import Net

model = Net()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

for epoch in range(3):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
SOURCES = {f"{CWD}/net.py": MODEL_SOURCE, f"{CWD}/train.py": TRAIN_SOURCE}
LAYERS = (
    Layer(name="", kind="Net", leaf=False),
    Layer(name="conv1", kind="Conv2d", parameters=100, trainable=100),
    Layer(name="conv2", kind="Conv2d", parameters=1820, trainable=1820),
    Layer(name="fc1", kind="Linear", parameters=16050, trainable=16050),
    Layer(name="drop", kind="Dropout", mode_sensitive=True),
    Layer(name="fc2", kind="Linear", parameters=510, trainable=510),
)
NAMES = tuple(f"{layer}.{kind}" for layer in ("conv1", "conv2", "fc1", "fc2") for kind in ("weight", "bias"))
UNCHECKED = (
    NotChecked("label noise", "needs a probe on captured samples, which this version does not have"),
    NotChecked("train and validation overlap", "the script has no validation loader"),
)


def series(name: str, values: object, every: int = 1, first: int = 0) -> Series:
    array = np.asarray(values, dtype=np.float64)
    return Series(name, np.arange(first, first + every * len(array), every, dtype=np.int64), array)


def family(name: str, names: tuple[str, ...], values: np.ndarray, steps: np.ndarray | None = None) -> Family:
    return Family(name, names, np.arange(len(values), dtype=np.int64) if steps is None else steps, values)


def _facts(steps: int, epochs: int, seconds: float, **more: object) -> Facts:
    run = Run(
        script=f"{CWD}/train.py", argv=("train.py", "--epochs", str(epochs)), cwd=CWD, started=1_795_000_000.0, seconds=seconds,
        training_seconds=seconds * 0.8, steps=steps, backwards=steps, forwards=steps + 12, epochs=epochs, steps_per_epoch=steps / max(1, epochs),
        overhead_seconds=seconds * 0.01, sampled_steps=min(steps, 60), exit=0, finished=True,
    )  # fmt: skip
    known = {
        "environment": Environment(python="3.11.2", torch="2.13.0+cpu", numpy="2.3.1", sickbay="0.1.0", platform="Linux-6.1-x86_64", device="cpu", threads=2),
        "run": run,
        "models": (Model(name="Net", layers=LAYERS),),
        "parameters": tuple(Parameter(name=n, shape=(50, 320), size=16000, layer=n.split(".")[0], optimizer=0, reached=True, moved=True) for n in NAMES),
        "optimizers": (
            Optimizer(
                index=0, kind="SGD", variable="optimizer", built_at=Place(f"{CWD}/train.py", 6), steps=steps, parameters=NAMES,
                groups=(OptimizerGroup(parameters=8, lr=0.03, weight_decay=0.0, momentum=0.9),),
            ),
        ),
        "loaders": (
            Loader(
                index=0, role="train", variable="train_loader", sampler="RandomSampler", batch_size=64, batches=23, samples=1437,
                dataset="TensorDataset", epochs=epochs,
            ),
        ),
        "losses": (
            Loss(
                index=0, variable="loss", backward_at=Place(f"{CWD}/train.py", 12), backwards=steps,
                heads=(
                    Head(
                        function="cross_entropy", module="CrossEntropyLoss", input_shape=(64, 10), target_shape=(64,), input_dtype="float32",
                        target_dtype="int64", classes=10, fed_by=(Op(name="softmax"),),
                    ),
                ),
            ),
        ),
    }  # fmt: skip
    return Facts(**{**known, **more})  # type: ignore[arg-type]


def _summary(name: str, steps: int, epochs: int, seconds: float, exit_code: int | str | None = 0) -> RunSummary:
    return RunSummary(name, f"{CWD}/.sickbay/{name}", f"{CWD}/train.py", steps, epochs, seconds, 0.0134, exit_code)


def _layers_over_steps(steps: int, names: tuple[str, ...], base: np.ndarray, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return base[None, :] * np.exp(rng.normal(0, 0.3, (steps, len(names)))) * np.linspace(1, 0.5, steps)[:, None]


def _timing(steps: int) -> dict[str, Series]:
    shares = {"step": 0.010, "data": 0.002, "forward": 0.003, "backward": 0.004, "optimizer": 0.0006, "own": 0.0001}
    return {f"time/{k}": series(f"time/{k}", np.full(steps, v)) for k, v in shares.items()}


def softmax() -> tuple[Diagnosis, Record]:
    rng = np.random.default_rng(1)
    steps = 120
    loss = 1.46 + 0.843 * np.exp(-np.arange(steps) / 160) + rng.normal(0, 0.012, steps)
    pulses = {
        "loss/train": series("loss/train", loss),
        "loss/eval": series("loss/eval", [2.21, 2.05, 1.92], every=40, first=39),
        "accuracy/train": series("accuracy/train", np.clip(0.1 + np.arange(steps) / 200 + rng.normal(0, 0.04, steps), 0, 1)),
        "lr": series("lr", np.full(steps, 0.03)),
        "grad_norm": series("grad_norm", 0.12 * np.exp(rng.normal(0, 0.3, steps))),
        **_timing(steps),
    }
    base = np.geomspace(2e-3, 4e-2, 8)
    sites = ("conv1", "conv2", "fc1", "fc2")
    families = {
        "grad_norm": family("grad_norm", NAMES, _layers_over_steps(60, NAMES, base)),
        "update_ratio": family("update_ratio", NAMES, _layers_over_steps(60, NAMES, base * 2e-2, 2)),
        "weight_norm": family("weight_norm", NAMES, _layers_over_steps(60, NAMES, np.linspace(1, 4, 8), 3)),
        "activation_mean": family("activation_mean", sites, np.full((60, 4), 0.2)),
        "activation_std": family("activation_std", sites, np.full((60, 4), 0.7)),
        "activation_dead": family("activation_dead", sites, np.tile([0.1, 0.05, 0.62, 0.0], (60, 1))),
        "activation_zero": family("activation_zero", sites, np.tile([0.45, 0.52, 0.81, 0.0], (60, 1))),
        "activation_saturated": family("activation_saturated", sites, np.zeros((60, 4))),
    }
    record = Record(_facts(steps, 3, 4.21), pulses, families, sources=SOURCES)
    place = Place(f"{CWD}/net.py", 19, "fc2", "return F.softmax(self.fc2(x), dim=1)")
    cause = Suspicion(
        cause="softmax-before-cross-entropy",
        code="P301",
        level="procedure",
        title="Probabilities are fed to a loss that expects logits.",
        why="Cross entropy applies log-softmax itself. Squashed twice, the classes can hardly be pulled apart: the loss cannot fall below "
        "1.461 for 10 classes and gradients shrink.",
        certainty="proven",
        confidence=0.99,
        place=place,
        evidence=(
            Evidence(
                "proof", "the output of softmax goes straight into cross_entropy", Place(f"{CWD}/train.py", 11), (0, 119), {"backward passes": 120}
            ),
            Evidence(
                "strong",
                "the loss never fell below 1.784, the floor for softmax outputs with 10 classes is 1.461",
                None,
                (80, 119),
                {"lowest loss": 1.784},
            ),
        ),
        fix=Fix("return the logits; cross_entropy does the rest", "-return F.softmax(self.fc2(x), dim=1)\n+return self.fc2(x)", "consent"),
        explains=frozenset({"slow-descent", "small-gradients"}),
        consequences=("slow-descent", "small-gradients"),
    )
    signs = (
        Sign("slow-descent", None, (0, 119), 0.7, {"slope": -0.0031}, "the loss fell by 0.4 in 120 steps"),
        Sign("small-gradients", "conv1.weight", (10, 119), 0.4, {"norm": 2e-3}, "the gradient norm of conv1.weight is 0.002"),
        Sign("small-gradients", "conv1.bias", (10, 119), 0.35, {"norm": 3e-3}, "the gradient norm of conv1.bias is 0.003"),
    )
    reason = "one proven cause: softmax before cross entropy"
    return Diagnosis("sick", reason, (cause,), signs, UNCHECKED, _summary("train-brisk-otter", steps, 3, 4.21)), record


def healthy() -> tuple[Diagnosis, Record]:
    rng = np.random.default_rng(2)
    steps = 345
    pulses = {
        "loss/train": series("loss/train", 2.303 * np.exp(-np.arange(steps) / 90) + 0.05 + np.abs(rng.normal(0, 0.02, steps))),
        "loss/eval": series("loss/eval", 2.1 * np.exp(-np.arange(15) / 4) + 0.08, every=23, first=22),
        "lr": series("lr", 0.05 * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2),
        "grad_norm": series("grad_norm", np.exp(rng.normal(0, 0.3, steps))),
        **_timing(steps),
    }
    families = {
        "grad_norm": family("grad_norm", NAMES, _layers_over_steps(60, NAMES, np.geomspace(0.1, 0.5, 8))),
        "update_ratio": family("update_ratio", NAMES, _layers_over_steps(60, NAMES, np.geomspace(4e-4, 2e-3, 8))),
    }
    record = Record(_facts(steps, 15, 12.3), pulses, families, sources=SOURCES)
    reason = "the training loss fell from 2.35 to 0.1 and the validation loss with it; 38 causes were looked for, none was found"
    return Diagnosis("healthy", reason, (), (), UNCHECKED, _summary("train-calm-heron", steps, 15, 12.3)), record


def exploding() -> tuple[Diagnosis, Record]:
    rng = np.random.default_rng(3)
    steps, breaks = 200, 132
    loss = np.where(np.arange(steps) < 20, 2.3, 2.3 * np.exp((np.arange(steps) - 20) / 9)) * np.exp(rng.normal(0, 0.2, steps))
    loss[breaks:] = np.nan
    norm = loss * 3
    base = np.geomspace(50, 0.5, 8)
    layers = _layers_over_steps(steps, NAMES, base) * np.exp(np.arange(steps) / 12)[:, None]
    layers[breaks:] = np.nan
    pulses = {"loss/train": series("loss/train", loss), "lr": series("lr", np.full(steps, 3.0)), "grad_norm": series("grad_norm", norm)}
    families = {
        "grad_norm": family("grad_norm", NAMES, layers),
        "update_ratio": family("update_ratio", NAMES, np.minimum(layers / 50, 40)),
    }
    crash = Crash(kind="ValueError", message="loss is NaN", place=Place(f"{CWD}/train.py", 12), step=199)
    record = Record(_facts(steps, 2, 6.0, crash=crash), pulses, families, sources=SOURCES)
    first = Suspicion(
        cause="lr-too-high", code="H401", level="hyperparameters",
        title="The learning rate is too high",
        why="Each step overshoots the minimum and lands higher than it started, so the loss grows until numbers overflow.",
        certainty="likely", confidence=0.86,
        place=Place(f"{CWD}/train.py", 6, None, "optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)"),
        evidence=(
            Evidence("strong", "updates were 0.41 of the weights they changed (median over layers), about 0.001 is healthy", None, (20, 60), {"ratio": 0.41}),
            Evidence("strong", "the loss rose from 2.3 to 1.2e6 before it became NaN at step 132", None, (20, 132)),
            Evidence("against", "the inputs are not standardised, which would look the same"),
        ),
        fix=Fix("divide the learning rate by 10 first", "-optimizer = torch.optim.SGD(model.parameters(), lr=3.0, momentum=0.9)\n"
                "+optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)"),
        explains=frozenset({"nonfinite-loss", "diverging-loss", "update-ratio-high"}),
        consequences=("nonfinite-loss", "diverging-loss", "dead-relu"),
    )  # fmt: skip
    second = Suspicion(
        cause="unscaled-input", code="D103", level="data", title="Inputs are far from unit scale",
        why="Activations and gradients take over the scale of the inputs.", certainty="possible", confidence=0.31, place=None,
        evidence=(Evidence("hint", "inputs range from 0 to 255", None, (0, 31), {"maximum": 255.0}),),
        fix=Fix("divide the inputs by 255", "x = x / 255.0"),
    )  # fmt: skip
    signs = (
        Sign("nonfinite-loss", None, (132, 199), 1.0, {"first step": 132, "value": float("nan")}, "the loss is NaN from step 132 on"),
        Sign("diverging-loss", None, (20, 131), 0.95, {"factor": 5.2e5}, "the loss rose 520,000-fold in 111 steps"),
    )
    reason = "the learning rate is the likely cause; the loss is NaN from step 132 on"
    return Diagnosis("sick", reason, (first, second), signs, UNCHECKED[:1], _summary("train-loud-finch", steps, 2, 6.0, 1)), record


def large(layers: int = 300, steps: int = 100_000) -> tuple[Diagnosis, Record]:
    """Hundreds of layers, a hundred thousand steps, vanishing gradients."""
    rng = np.random.default_rng(4)
    names = tuple(f"encoder.layers.{i // 6}.{('attn.q', 'attn.k', 'attn.v', 'attn.out', 'mlp.up', 'mlp.down')[i % 6]}.weight" for i in range(layers))
    modules = tuple(Layer(name=n.removesuffix(".weight"), kind="Linear", parameters=1_048_576, trainable=1_048_576) for n in names)
    at = np.unique(np.concatenate([np.arange(50), np.linspace(50, steps - 1, 900).astype(np.int64)]))
    base = np.geomspace(1e-7, 1e-1, layers)
    loss = 6 * np.exp(-np.arange(steps) / 3e4) + 4 + rng.normal(0, 0.1, steps)
    pulses = {
        "loss/train": series("loss/train", loss),
        "loss/eval": series("loss/eval", 6 * np.exp(-np.arange(50) * 2000 / 3e4) + 4.1, every=2000, first=1999),
        "lr": series("lr", 3e-4 * np.minimum(1, np.arange(steps) / 4000) * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2 + 1e-9),
        "grad_norm": series("grad_norm", np.exp(rng.normal(0, 0.5, steps))),
        "clip_norm": series("clip_norm", 2 * np.exp(rng.normal(0, 0.8, steps))),
    }
    families = {
        "grad_norm": family("grad_norm", names, _layers_over_steps(len(at), names, base), at),
        "update_ratio": family("update_ratio", names, _layers_over_steps(len(at), names, base * 0.1, 1), at),
        "weight_norm": family("weight_norm", names, _layers_over_steps(len(at), names, np.full(layers, 12.0), 2), at),
        "activation_std": family("activation_std", names, _layers_over_steps(len(at), names, np.linspace(1, 3, layers), 3), at),
        "activation_dead": family("activation_dead", names, np.clip(rng.normal(0.1, 0.1, (len(at), layers)), 0, 1), at),
    }
    parameters = tuple(
        Parameter(name=n, shape=(1024, 1024), size=1_048_576, optimizer=0, reached=i % 40 != 0, moved=True) for i, n in enumerate(names)
    )
    facts = _facts(steps, 4, 86_000.0, models=(Model(name="Encoder", layers=modules, compiled=True),), parameters=parameters)
    cause = Suspicion(
        cause="vanishing-gradient", code="A205", level="architecture", title="Gradients vanish on the way to the first layers",
        why="The first layers hardly learn: their gradient is a millionth of the last layer's.", certainty="likely", confidence=0.9,
        place=Place(layer="encoder.layers.0.attn.q"),
        evidence=(Evidence("strong", "gradient norms fall from 0.1 in the last to 1e-7 in the first layer", None, (0, steps - 1), {"ratio": 1e-6}),),
        fix=Fix("normalise before each block and add residual connections", "+x = x + self.attn(self.norm1(x))"),
        explains=frozenset({"gradient-decay-with-depth"}), consequences=("gradient-decay-with-depth",),
    )  # fmt: skip
    signs = (Sign("gradient-decay-with-depth", None, (0, steps - 1), 0.9, {"ratio": 1e-6}, "the early to late gradient ratio is 1e-6"),)
    return Diagnosis("sick", "gradients vanish", (cause,), signs, UNCHECKED, _summary("pretrain-slow-whale", steps, 4, 86_000.0)), Record(
        facts, pulses, families, sources=SOURCES
    )


def untrained() -> tuple[Diagnosis, Record]:
    record = Record(Facts(run=Run(script=f"{CWD}/prepare.py", cwd=CWD, seconds=0.8, exit=0, finished=True)))
    summary = RunSummary("prepare-shy-newt", f"{CWD}/.sickbay/prepare-shy-newt", f"{CWD}/prepare.py", 0, 0, 0.8, None, 0)
    reason = "the script never called backward and made no optimizer step, so there was no training to look at"
    return Diagnosis("untrained", reason, (), (), (), summary), record


def hostile() -> tuple[Diagnosis, Record]:
    """Everything the user's program can name, named to break out of a report."""
    bad = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\x1b[31m\u202e\udc80'\""
    steps = 20
    record = Record(
        _facts(steps, 1, 1.0, models=(Model(name=bad, layers=(Layer(name=bad, kind=bad, parameters=3, trainable=3),)),),
               parameters=(Parameter(name=bad, shape=(3,), size=3),)),
        {"loss/train": series("loss/train", np.full(steps, np.nan)), bad: series(bad, np.ones(steps))},
        {"grad_norm": family("grad_norm", (bad,), np.full((steps, 1), np.nan)), "activation_dead": family("activation_dead", (bad,), np.ones((steps, 1)))},
        sources={f"{CWD}/train.py": f"{bad}\nx = '{bad}'\n"}, path=Path("/tmp/x"), damage=(bad,),
    )  # fmt: skip
    cause = Suspicion(
        cause=bad, code="P3<b>", level="procedure", title=bad, why=bad, certainty="possible", confidence=float("nan"),
        place=Place(f"{CWD}/train.py", 2, bad, bad), evidence=(Evidence("hint", bad, None, (3, 7), {bad: float("inf")}),),
        fix=Fix(bad, f"-{bad}\n+{bad}"), consequences=(bad,),
    )  # fmt: skip
    signs = (Sign(bad, bad, (3, 7), float("nan"), {bad: float("-inf")}, bad),)
    summary = RunSummary(bad, bad, bad, steps, 1, 1.0, float("nan"), bad)
    return Diagnosis("undecided", bad, (cause,), signs, (NotChecked(bad, bad),), summary), record


CASES = {"softmax": softmax, "healthy": healthy, "exploding": exploding, "large": large, "untrained": untrained, "hostile": hostile}
