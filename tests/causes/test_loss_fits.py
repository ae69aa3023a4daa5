"""Losses that do not fit what enters them: raw scores for probabilities, class numbers for quantities, outputs out of reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from causes.scripts import added, removed
from sickbay.facts import ClassOrder, Crash, Fragile, Head, Loss, Op, Values
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

SCORES = Values(count=320, minimum=-2.5, maximum=3.1, mean=0.1, std=1.0, row_sum=(-3.0, 4.0))
PROBABILITIES = Values(count=320, minimum=0.001, maximum=0.98, mean=0.1, std=0.2, row_sum=(1.0, 1.0))
LOG_PROBABILITIES = Values(count=320, minimum=-7.0, maximum=-0.01, mean=-2.5, std=1.0, row_logsumexp=(-1e-7, 1e-7))


def head(function: str, fed_by: str = "linear", source: str = "", text: str = "", **fields: object) -> Record:
    place = place_in(source, text) if source else Place("train.py", 7)
    one = Head(function=function, called_at=place, fed_by=(Op(name=fed_by, place=place), Op(name="relu")), **({"raw": fed_by == "linear"} | fields))  # type: ignore[arg-type]
    return make_record(series={"loss/train": falling(2, 1, 60)}, sources={"train.py": source}, losses=[Loss(index=0, heads=(one,))])


def logs(*fragile: Fragile) -> Record:
    return make_record(steps=60, losses=[Loss(index=0, fragile=fragile)])


def log(made: str = "linear", raw: bool = True, **fields: object) -> Fragile:
    return Fragile(op="log", call="torch.log(p)", place=Place("train.py", 9), made_from=Op(name=made), raw=raw, **fields)  # type: ignore[arg-type]


def refused(made: str, raw: bool, step: int = 0) -> Record:
    crash = Crash(kind="RuntimeError", message="RuntimeError: all elements of input should be between 0 and 1", place=Place("train.py", 7), step=step)
    return make_record(steps=step, crash=crash, refused=Head(function="binary_cross_entropy", fed_by=(Op(name=made),), raw=raw))


class TestLogitsToProbabilityLoss(CauseTestCase):
    cause = "logits-to-probability-loss"

    def sick(self) -> Iterable[Record]:
        yield head("nll_loss", input=SCORES)
        yield head("nll_loss", "softmax", input=PROBABILITIES)
        yield head("kl_div", input=SCORES)
        yield head("binary_cross_entropy", input=Values(count=9, minimum=0.2, maximum=0.7))
        yield head("binary_cross_entropy", "relu", input=Values(count=9, minimum=0.0, maximum=0.7))
        yield logs(log(), log(complement=True))
        yield logs(log(guarded=True), log(guarded=True, complement=True))
        yield logs(log(alone=True, touched=3, lowest=-1.0, feeds=("mul",)))
        yield refused("linear", raw=True)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "log_softmax before nll_loss", head("nll_loss", "log_softmax", input=LOG_PROBABILITIES)
        yield "log of probabilities, by hand", head("nll_loss", "log", input=LOG_PROBABILITIES)
        yield "log-probabilities after some arithmetic", head("nll_loss", "sub", input=LOG_PROBABILITIES)
        yield "cross-entropy by hand: the scores enter by another way too", head("nll_loss", input=SCORES, shared_input=True)
        yield "divergence of rates, given as logarithms", head("kl_div", "log", input=SCORES)
        yield "raw scores where they belong", head("cross_entropy", input=SCORES)
        yield "sigmoid before binary_cross_entropy", head("binary_cross_entropy", "sigmoid", input=PROBABILITIES)
        yield "formula with a sigmoid", logs(log("sigmoid", raw=False), log("sigmoid", raw=False, complement=True))
        yield "Poisson likelihood: the rate is used beside its logarithm", logs(log(guarded=True, feeds=("mul",)))
        yield "error between logarithms", logs(log(guarded=True, alone=True, feeds=("sub",)))
        yield "binary_cross_entropy was given NaN from a sigmoid", refused("sigmoid", raw=False, step=40)


@pytest.mark.parametrize(
    ("function", "line", "fixed"),
    [
        ("nll_loss", "loss = F.nll_loss(net(x), y)", "loss = F.cross_entropy(net(x), y)"),
        ("nll_loss", "criterion = nn.NLLLoss(weight=w)", "criterion = nn.CrossEntropyLoss(weight=w)"),
        ("binary_cross_entropy", "loss = F.binary_cross_entropy(net(x), y)", "loss = F.binary_cross_entropy_with_logits(net(x), y)"),
        ("binary_cross_entropy", "criterion = nn.BCELoss()", "criterion = nn.BCEWithLogitsLoss()"),
        ("kl_div", "loss = F.kl_div(net(x), q)", "loss = F.kl_div(F.log_softmax(net(x), dim=1), q)"),
    ],
)
def test_the_fix_takes_the_loss_for_raw_scores(function: str, line: str, fixed: str) -> None:
    source = f"{line}\n" if "loss =" in line else f"{line}\nloss = criterion(net(x), y)\n"
    fix = assert_suspects(head(function, source=source, text="loss =", input=SCORES), "logits-to-probability-loss").fix
    assert (removed(fix.diff), added(fix.diff)) == ([line], [fixed])


def test_probabilities_get_their_logarithm() -> None:
    source = "loss = F.nll_loss(F.softmax(net(x), dim=1), y)\n"
    fix = assert_suspects(head("nll_loss", "softmax", source=source, text="loss =", input=PROBABILITIES), "logits-to-probability-loss").fix
    assert added(fix.diff) == ["loss = F.nll_loss(F.log_softmax(net(x), dim=1), y)"]


@pytest.mark.parametrize(("evaluates", "line"), [(True, 1), (False, 4)])
def test_a_loss_that_several_lines_call_is_changed_where_it_is_made(evaluates: bool, line: int) -> None:
    source = f"criterion = nn.NLLLoss()\ndef score(net, criterion):\n    return {'criterion(net(x), y)' if evaluates else 'hits(net(x), y)'}\nloss = criterion(net(x), y)\n"
    suspicion = assert_suspects(head("nll_loss", source=source, text="loss =", input=SCORES, module="NLLLoss"), "logits-to-probability-loss")
    assert suspicion.place is not None and suspicion.place.line == line
    assert added(suspicion.fix.diff) == ["criterion = nn.CrossEntropyLoss()"]


# -- wrong-loss-for-task ------------------------------------------------------------------------------------------------

SEVEN = Values(count=320, minimum=0, maximum=6, mean=3, std=2, whole=True, distinct=tuple(range(7)))
MULTI_HOT = Values(count=320, minimum=0, maximum=1, mean=0.4, std=0.5, whole=True, distinct=(0, 1), zeros=0.6, row_sum=(0, 4))
ONE_HOT = Values(count=320, minimum=0, maximum=1, mean=0.25, std=0.4, whole=True, distinct=(0, 1), zeros=0.75, row_sum=(1, 1))
NAMES = ClassOrder(classes=7, samples=600, correlation=0.05, separation=40.0)
QUANTITIES = ClassOrder(classes=7, samples=600, correlation=0.9, separation=40.0)
HITS = "loss = mse(net(x), y)\nright = (net(x).round() == y).float().mean()\n"
CLASSES = HITS + "n_classes = 7\n"
THRESHOLD = "loss = F.cross_entropy(net(x), y)\nfound = net(x).sigmoid() > 0.5\n"


def test_a_loss_that_only_a_library_calls_is_told_where_it_is_made() -> None:
    source = "criterion = nn.NLLLoss()\ntrainer = create_supervised_trainer(net, optimizer, criterion)\nstate = trainer.run(loader)\n"
    suspicion = assert_suspects(head("nll_loss", source=source, text="state =", input=SCORES, module="NLLLoss"), "logits-to-probability-loss")
    assert suspicion.place is not None and suspicion.place.line == 1


def classified(source: str = HITS, order: ClassOrder | None = None, **fields: object) -> Record:
    place = place_in(source, "loss =")
    one = Head(**({"function": "mse_loss", "called_at": place, "input_shape": (32,), "target_shape": (32,), "target": SEVEN} | fields))  # type: ignore[arg-type]
    return make_record(steps=60, sources={"train.py": source}, losses=[Loss(index=0, heads=(one,))], class_order=[order] if order else [])


def entropy(target: Values, source: str = "loss = F.cross_entropy(net(x), y)\n", **fields: object) -> Record:
    given: dict[str, object] = {
        "function": "cross_entropy",
        "input_shape": (32, 4),
        "target_shape": (32, 4),
        "target_dtype": "float32",
        "target": target,
    }
    return classified(source, **(given | fields))


class TestWrongLossForTask(CauseTestCase):
    cause = "wrong-loss-for-task"

    def sick(self) -> Iterable[Record]:
        yield entropy(ONE_HOT, input_shape=(32, 1), target_shape=(32, 1))
        yield entropy(ONE_HOT, input_shape=(32,), target_shape=(32,))
        yield entropy(MULTI_HOT, THRESHOLD)
        yield entropy(Values(count=99, minimum=-2.0, maximum=3.0))
        yield entropy(Values(count=99, minimum=0.1, maximum=0.9, row_sum=(0.7, 2.1)))
        yield entropy(SEVEN, target_shape=(32,), target_dtype="int64", target_source=Values(count=99, minimum=0.1, maximum=6.8))
        yield classified(function="binary_cross_entropy_with_logits")
        yield classified(function="binary_cross_entropy_with_logits", target=Values(count=99, minimum=-3.1, maximum=6.5), reduction="none")
        yield classified(function="soft_margin_loss", target=Values(count=99, maximum=1, whole=True, distinct=(0, 1)))
        yield classified(input_shape=(32, 7), target_shape=(32, 1))
        yield classified(function="l1_loss", target=ONE_HOT, input_shape=(32, 4), target_shape=(32, 4))
        yield classified(function="binary_cross_entropy", fed_by=(Op(name="softmax"),), input=Values(count=32, minimum=1.0, maximum=1.0))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "counts: nobody asks for exact hits", classified("loss = mse(net(x), y)\nerror = (net(x) - y).abs().mean()\n")
        yield "yes or no by least squares", classified(target=Values(count=99, maximum=1, whole=True, distinct=(0, 1)))
        yield (
            "ratings from 1 to 5",
            classified("loss = mse(net(x), y)\n", target=Values(count=99, minimum=1, maximum=5, whole=True, distinct=(1, 2, 3, 4, 5))),
        )
        yield "Brier score", classified(target=ONE_HOT, input_shape=(32, 4), target_shape=(32, 4))
        marks = Values(count=99, maximum=1, whole=True, distinct=(0, 1), row_sum=(0.0, 3.0))
        yield "a picture of zeros and ones", classified(function="l1_loss", target=marks, input_shape=(32, 4), target_shape=(32, 4))
        yield "soft labels", entropy(Values(count=99, minimum=0.02, maximum=0.9, row_sum=(1.0, 1.0)))
        yield "one-hot rows", entropy(ONE_HOT)
        yield "one-hot rows with weights", entropy(Values(count=99, maximum=2.5, zeros=0.75, row_sum=(0.5, 2.5)))
        yield "baskets that the model rebuilds", entropy(MULTI_HOT, target_is_input=True)
        yield "class numbers where they belong", entropy(SEVEN, target_shape=(32,), target_dtype="int64", target_source=SEVEN)
        padded = Values(count=99, minimum=-1, maximum=1, whole=True, distinct=(-1, 0, 1))
        yield "padding that is masked out", classified(function="binary_cross_entropy_with_logits", target=padded, reduction="none")
        yield "padding with weight 0", classified(function="binary_cross_entropy_with_logits", target=padded, weighted=True)
        yield (
            "margins of -1 and 1",
            classified(function="soft_margin_loss", target=Values(count=99, minimum=-1, maximum=1, whole=True, distinct=(-1, 1))),
        )


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("loss = F.binary_cross_entropy_with_logits(net(x), x)\n", "loss = F.mse_loss(net(x), x)"),
        ("loss_fn = nn.BCEWithLogitsLoss()\nloss = loss_fn(net(x), x)\n", "loss_fn = nn.MSELoss()"),
    ],
)
def test_quantities_under_a_loss_for_yes_and_no(text: str, new: str) -> None:
    record = classified(text, function="binary_cross_entropy_with_logits", target=Values(count=99, minimum=-3.1, maximum=6.5))
    fix = assert_suspects(record, "wrong-loss-for-task").fix
    assert "quantities" in fix.text and added(fix.diff) == [new]


def test_class_numbers_are_names_if_the_script_or_the_data_say_so() -> None:
    for record in (classified(CLASSES), classified(order=NAMES), classified(CLASSES, order=NAMES)):
        assert_suspects(record, "wrong-loss-for-task", "likely")
    assert_suspects(classified(), "wrong-loss-for-task", "possible")
    assert_suspects(classified(CLASSES, order=QUANTITIES), "wrong-loss-for-task", "possible")
    assert_silent(classified(order=QUANTITIES), "wrong-loss-for-task", "counted things, rounded to be shown")


# -- activation-on-output -----------------------------------------------------------------------------------------------

STANDARD = Values(count=640, minimum=-2.6, maximum=2.9, std=1.0)


def activated(function: str, last: str, bounds: tuple[float, float], outside: float = 0.5, unreachable: float = 0.5, **fields: object) -> Record:
    given = {"input": STANDARD, "target": STANDARD, "bounds": bounds, "outside": outside, "unreachable": unreachable}
    return head(function, last, **(given | fields))


class TestActivationOnOutput(CauseTestCase):
    cause = "activation-on-output"
    infinity = float("inf")

    def sick(self) -> Iterable[Record]:
        yield activated("mse_loss", "relu", (0, self.infinity))
        yield activated("smooth_l1_loss", "tanh", (-1, 1), 0.32, 0.15)
        yield activated("cross_entropy", "relu", (0, self.infinity))
        yield activated("cross_entropy", "tanh", (-1, 1), classes=10)
        yield activated("binary_cross_entropy_with_logits", "relu", (0, self.infinity), target=Values(count=9, maximum=1, mean=0.5))
        by_hand = Head(
            function="difference", call="net(x) - y", fed_by=(Op(name="sigmoid"),), bounds=(0, 1), outside=0.8, unreachable=0.5, target=STANDARD
        )
        yield make_record(steps=50, losses=[Loss(index=0, by_hand=(by_hand,))])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "targets within the range", activated("mse_loss", "relu", (0, self.infinity), 0.0, 0.0)
        yield "a few outliers", activated("mse_loss", "sigmoid", (0, 1), 0.01, 0.02)
        yield "no activation at the end", head("mse_loss", "linear", target=STANDARD)
        yield "scaled afterwards", head("mse_loss", "mul", target=STANDARD)
        yield "softmax before cross-entropy is another cause", activated("cross_entropy", "softmax", (0, 1))
        yield "log_softmax before cross-entropy changes nothing", activated("cross_entropy", "log_softmax", (-self.infinity, 0))
        yield "probabilities for binary_cross_entropy", activated("binary_cross_entropy", "sigmoid", (0, 1))


def test_floor_of_a_bounded_score() -> None:
    (evidence,) = assert_suspects(activated("cross_entropy", "tanh", (-1, 1), classes=10), "activation-on-output").evidence
    assert evidence.numbers["floor"] == pytest.approx(0.797, abs=0.001)


@pytest.mark.parametrize(
    ("line", "last", "fixed"),
    [
        ("    return torch.relu(self.out(h))", "relu", "    return self.out(h)"),
        ("    return self.out(h).sigmoid()", "sigmoid", "    return self.out(h)"),
        ("    net = nn.Sequential(nn.Linear(4, 1), nn.Tanh())", "tanh", "    net = nn.Sequential(nn.Linear(4, 1))"),
        ("    layers = [nn.Linear(4, 1), nn.ReLU()]", "relu", "    layers = [nn.Linear(4, 1)]"),
        ("    self.last = nn.ReLU()", "relu", "    self.last = nn.Identity()"),
        ("    return self.act(self.out(h))", "relu", "    return self.out(h)"),
    ],
)
def test_the_fix_leaves_it_out(line: str, last: str, fixed: str) -> None:
    source = f"def f(self, h):\n{line}\n"
    fix = assert_suspects(activated("mse_loss", last, (0, 1), source=source, text=line.strip()), "activation-on-output").fix
    assert (removed(fix.diff), added(fix.diff)) == ([line], [fixed])


def test_a_line_that_makes_the_hidden_activations_too_is_not_taken_out() -> None:
    line = "        x = torch.relu(linear(x))"
    record = activated(
        "cross_entropy", "relu", (0, float("inf")), source=f"def f(self, x):\n    for linear in self.linears:\n{line}\n", text=line.strip()
    )
    (loss,) = record.facts.losses
    used = loss.heads[0].fed_by[0]
    record = with_facts(record, losses=(replace(loss, activations=(used, used, used)),))
    fix = assert_suspects(record, "activation-on-output").fix
    assert fix.safety == "advice" and "torch.relu(linear(x))" not in fix.diff and "last layer only" in fix.text


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        (
            "class Q(nn.Module):\n    def forward(self, x):\n        return F.relu(self.out(x))\nq = Q()\n",
            False,
        ),  # a net that is called twice in a step
        ("class Q(nn.Module):\n    def forward(self, x):\n        return F.relu(self.out(x))\nq = [Q() for _ in range(3)]\n", True),
        ("class Q(nn.Module):\n    def forward(self, x):\n        return F.relu(self.out(x))\na, b = Q(), Q()\n", True),
    ],
)
def test_the_last_line_of_a_net_is_no_hidden_one(source: str, inside: bool) -> None:
    record = activated("mse_loss", "relu", (0, float("inf")), source=source, text="return F.relu(self.out(x))")
    (loss,) = record.facts.losses
    used = loss.heads[0].fed_by[0]
    fix = assert_suspects(with_facts(record, losses=(replace(loss, activations=(used, used)),)), "activation-on-output").fix
    assert added(fix.diff) == ([] if inside else ["        return self.out(x)"])
