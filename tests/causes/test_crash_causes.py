"""Causes of crashes: invalid-label's details, shape-mismatch, device-mismatch, inplace-modification, retained-graph and out-of-memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from causes.scripts import added
from sickbay.conclude import diagnose
from sickbay.facts import (
    Attached,
    BadIndices,
    Crash,
    CrashTensor,
    Environment,
    InplaceWrite,
    Kept,
    Loader,
    Loss,
    MemoryUse,
    Optimizer,
    Precision,
    Run,
)
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

SOURCE = """\
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.fc = nn.Linear(256, 10)

    def forward(self, x):
        h = torch.sigmoid(self.table(x))
        h += 1
        return self.fc(h)

model = Net()
loader = DataLoader(data, batch_size=64, shuffle=True)
for x, y in loader:
    out, state = rnn(x, state)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def crashed(
    message: str, at: str = "loss = F.cross", kind: str = "RuntimeError", steps: int = 0, facts: dict[str, Any] | None = None, **more: Any
) -> Record:
    crash = Crash(kind=kind, message=f"{kind}: {message}", place=place_in(SOURCE, at), step=steps, **more)
    return make_record(run=Run(steps=steps, backwards=steps, exit=1), crash=crash, sources={"train.py": SOURCE}, **(facts or {}))


def label(values: tuple[float, ...], **more: Any) -> Record:
    given = {
        "function": "cross_entropy",
        "allowed": 10,
        "ignored": -100,
        "lowest": 0.0,
        "highest": max(values),
        "count": 2,
        "total": 64,
        "rows": (3, 9),
    }
    bad = BadIndices(values=values, variable="y", dtype="int64", shape=(64,), **(given | more))  # type: ignore[arg-type]
    return crashed(
        f"Target {values[-1]:.0f} is out of bounds.", kind="IndexError", call="F.cross_entropy(model(x), y)", operation="cross_entropy", indices=bad
    )


TOKENS = "index out of range in self"


def tokens(highest: float = 50.0, count: int = 3) -> Record:
    bad = BadIndices(
        function="embedding", variable="x", allowed=50, lowest=0, highest=highest, values=(highest,) if count else (), count=count, total=640
    )
    built = place_in(SOURCE, "nn.Embedding")
    return crashed(
        TOKENS, at="self.table(x)", kind="IndexError", operation="embedding", indices=bad, layer="table", layer_kind="Embedding", layer_built_at=built
    )


class TestInvalidLabel(CauseTestCase):
    cause = "invalid-label"

    def sick(self) -> Iterable[Record]:
        yield label((10.0,))
        yield label((-1.0,), lowest=-1.0)
        yield tokens()
        yield crashed(
            "index 10 is out of bounds for dimension 1 with size 10",
            operation="gather",
            indices=BadIndices(function="gather", allowed=10, values=(10.0,), highest=10.0, count=1, total=64),
        )

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "an index of the script's own", crashed("list index out of range", kind="IndexError")
        yield "an index that was not seen", crashed("index 7 is out of bounds for dimension 0 with size 7", kind="IndexError")
        yield "types of a layer", crashed("expected scalar type Long but found Float", operation="embedding")


def test_labels_are_told_with_their_samples() -> None:
    s = assert_suspects(label((10.0,), lowest=1.0, samples=(130, 7)), "invalid-label")
    text = s.evidence[0].text
    assert "label 10 of `y` is out of range (cross_entropy accepts 0 to 9), 2 of 64" in text
    assert "samples 130, 7 of the data set (rows 3, 9 of the batch)" in text and "train.py:20" in text
    assert added(s.fix.diff) == ["    loss = F.cross_entropy(model(x), y - 1)"]


def test_minus_one_is_ignored_where_it_is_meant_so() -> None:
    s = assert_suspects(label((-1.0,), lowest=-1.0, highest=9.0), "invalid-label")
    assert "-100 is ignored" in s.evidence[0].text
    assert added(s.fix.diff) == ["    loss = F.cross_entropy(model(x), y, ignore_index=-1)"]


def test_a_class_too_many_is_mended_where_the_outputs_are_made() -> None:
    s = assert_suspects(label((10.0,), outputs="fc", outputs_kind="Linear", outputs_at=place_in(SOURCE, "nn.Linear")), "invalid-label")
    assert s.place is not None and s.place.line == 9 and added(s.fix.diff) == ["        self.fc = nn.Linear(256, 11)"]


def test_an_embedding_gets_its_rows() -> None:
    s = assert_suspects(tokens(), "invalid-label")
    assert s.place is not None and s.place.line == 8 and "layer table accepts 0 to 49" in s.evidence[0].text
    assert added(s.fix.diff) == ["        self.table = nn.Embedding(51, 8)"]


# -- shapes ---------------------------------------------------------------------------------------------------------

LINEAR = "mat1 and mat2 shapes cannot be multiplied (64x400 and 256x10)"


def linear() -> Record:
    given = CrashTensor(role="input", variable="h", shape=(64, 400), made_by="flatten", made_at=place_in(SOURCE, "torch.sigmoid"))
    text = "Linear(in_features=256, out_features=10, bias=True)"
    built = place_in(SOURCE, "nn.Linear")
    return crashed(
        LINEAR, "return self.fc", operation="Linear", layer="fc", layer_kind="Linear", layer_text=text, layer_built_at=built, tensors=(given,)
    )


class TestShapeMismatch(CauseTestCase):
    cause = "shape-mismatch"

    def sick(self) -> Iterable[Record]:
        yield linear()
        yield crashed("Given groups=1, weight of size [32, 16, 3, 3], expected input[64, 8, 14, 14] to have 16 channels, but got 8 channels instead")
        yield crashed("Expected input batch_size (128) to match target batch_size (16).", kind="ValueError")
        yield crashed("The size of tensor a (6) must match the size of tensor b (5) at non-singleton dimension 1")
        yield crashed("Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))", kind="ValueError")
        yield crashed("shape '[32, 768]' is invalid for input of size 12288")
        yield crashed("Expected hidden size (1, 8, 8), got [1, 16, 8]", steps=20)
        yield crashed("Given normalized_shape=[64], expected input with shape [*, 64], but got input of size[8, 32]")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "labels", label((10.0,))
        yield (
            "a checkpoint",
            crashed(
                "Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight: The size of tensor a (1) must match the size of tensor b (2)"
            ),
        )
        yield "one sample", crashed("Expected more than 1 value per channel when training, got input size torch.Size([1, 8])", kind="ValueError")
        yield "types", crashed("mat1 and mat2 must have the same dtype, but got Double and Float")
        yield "no crash", make_record(steps=100)


def test_the_layer_is_made_for_what_it_is_given() -> None:
    s = assert_suspects(linear(), "shape-mismatch")
    assert "layer fc (Linear(in_features=256" in s.evidence[0].text and "expects 256 features and is given 400" in s.evidence[0].text
    assert "from flatten at train.py:12" in s.evidence[0].text and s.place is not None and s.place.line == 9
    assert added(s.fix.diff) == ["        self.fc = nn.Linear(400, 10)"]


def test_the_batch_stays_first() -> None:
    view = SOURCE.replace("torch.sigmoid(", "x.view(-1, 48) + torch.sigmoid(", 1)
    record = crashed("Expected input batch_size (128) to match target batch_size (16).", kind="ValueError", reshaped_at=place_in(view, "x.view"))
    fix = assert_suspects(replace(record, sources={"train.py": view}), "shape-mismatch").fix
    assert ["x.flatten(1)" in line for line in added(fix.diff)] == [True]


STACKED = """\
def stack(sizes):
    return nn.Sequential(*[nn.Linear(a, b) for a, b in pairwise(sizes)])

class Net(nn.Module):
    def __init__(self, down):
        self.encoder = stack(down)
        self.decoder = stack([8, *down[::-1]])

loss = mse(net(x), x)
"""


def test_a_layer_that_a_function_makes_is_mended_where_it_is_asked_for() -> None:
    crash = linear().facts.crash
    assert crash is not None
    stacked = replace(crash, layer="decoder.0", layer_built_at=Place("train.py", 2), place=Place("train.py", 9))
    record = make_record(run=Run(exit=1), crash=stacked, sources={"train.py": STACKED})
    place = assert_suspects(record, "shape-mismatch").place
    assert place is not None and place.text == "self.decoder = stack([8, *down[::-1]])" and place.guess
    twice = make_record(run=Run(exit=1), crash=replace(stacked, layer="layers.0"), sources={"train.py": STACKED})
    assert assert_suspects(twice, "shape-mismatch").place == Place("train.py", 2)


# -- types and devices ----------------------------------------------------------------------------------------------

DOUBLE = "mat1 and mat2 must have the same dtype, but got Double and Float"
BATCH = CrashTensor(role="input", variable="x", shape=(64, 8), dtype="float64", device="cpu", entered=True)
WEIGHT = CrashTensor(role="weight", parameter="fc.weight", shape=(10, 8), dtype="float32", device="cpu")


def mixed(message: str = DOUBLE, *tensors: CrashTensor, **more: Any) -> Record:
    at = {"layer": "fc", "layer_kind": "Linear", "operation": "Linear", "entered_at": place_in(SOURCE, "loss = F.cross")} | more
    return crashed(message, "return self.fc", tensors=tensors or (BATCH, WEIGHT), **at)


class TestDeviceMismatch(CauseTestCase):
    cause = "device-mismatch"

    def sick(self) -> Iterable[Record]:
        yield mixed()
        yield mixed("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!")
        yield mixed("Input type (double) and bias type (float) should be the same")
        yield mixed("Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should be a MKLDNN tensor")
        yield mixed("expected scalar type Float but found Double")
        yield mixed("Found dtype Double but expected Float", operation="backward")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "labels", crashed("expected scalar type Long but found Float", operation="cross_entropy")
        yield "labels of a loss", crashed("\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'", operation="cross_entropy")
        half = {"facts": {"precision": Precision(autocast="float16")}}
        yield "half precision", crashed("expected scalar type Half but found Float", **half)  # type: ignore[arg-type]
        yield "shapes", linear()


def test_the_batch_is_converted_where_it_enters() -> None:
    s = assert_suspects(mixed(), "device-mismatch")
    assert "`x`, which is float64" in s.evidence[0].text and "the weights are float32" in s.evidence[0].text
    assert s.place is not None and s.place.line == 20 and added(s.fix.diff) == ["    loss = F.cross_entropy(model(x.float()), y)"]


def test_whole_numbers_as_the_target_of_a_loss_that_compares_numbers() -> None:
    logits = CrashTensor(role="input", variable="z", shape=(64,), dtype="float32", device="cpu")
    target = CrashTensor(role="target", variable="y", shape=(64,), dtype="int64", device="cpu")
    record = mixed(
        "result type Float can't be cast to the desired output type Long", logits, target, layer="", operation="binary_cross_entropy_with_logits"
    )
    s = assert_suspects(record, "device-mismatch")
    assert "`y`, which is int64" in s.evidence[0].text and "convert y to float32" in s.fix.text


def test_the_batch_is_moved() -> None:
    from dataclasses import replace

    gpu = replace(WEIGHT, device="cuda:0")
    s = assert_suspects(
        mixed("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", replace(BATCH, dtype="float32"), gpu),
        "device-mismatch",
    )
    assert "on cpu" in s.evidence[0].text and "the weights are on cuda:0" in s.evidence[0].text and s.fix.diff == "x = x.to(device)"


# -- overwritten, and gone through twice ----------------------------------------------------------------------------

INPLACE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [64, 16]], "
    "which is output 0 of SigmoidBackward0, is at version 1; expected version 0 instead. Hint: enable anomaly detection"
)
TWICE = "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed)."


def written(**more: Any) -> Record:
    write = InplaceWrite(operation="add", place=place_in(SOURCE, "h += 1"), call="h += 1", shape=(64, 16), version=1)
    given = {"writes": (write,), "needed_at": place_in(SOURCE, "torch.sigmoid"), "operation": "backward", "backwards": 1} | more
    return crashed(INPLACE, "loss.backward()", **given)


def stepped(backwards: int = 1, others: tuple[Place, ...] = (Place("train.py", 5),), **more: Any) -> Record:
    at = place_in(SOURCE, "optimizer.step()")
    return written(writes=(), stepped=("d.2.weight",), stepped_at=at, backwards=backwards, others=others, steps=1, **more)


def twice(*names: str, backwards: int = 2, others: tuple[Place, ...] = (), steps: int = 1) -> Record:
    attached = tuple(Attached(name=n, file="train.py", function="<module>") for n in names)
    return crashed(TWICE, "loss.backward()", operation="backward", attached=attached, backwards=backwards, others=others, steps=steps)


class TestInplaceModification(CauseTestCase):
    cause = "inplace-modification"

    def sick(self) -> Iterable[Record]:
        yield written()
        yield written(writes=())
        yield stepped()
        yield crashed("a leaf Variable that requires grad is being used in an in-place operation.", "h += 1", call="h += 1")
        yield crashed("Output 0 of UnbindBackward0 is a view and is being modified inplace.", "h += 1")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "gone through twice", twice("state")
        yield "no crash", make_record(steps=100)


def test_the_line_that_overwrote_it() -> None:
    s = assert_suspects(written(), "inplace-modification")
    assert s.place is not None and s.place.line == 13 and added(s.fix.diff) == ["        h = h + 1"]
    assert "that sigmoid made at train.py:12" in s.evidence[0].text and "`h += 1` at train.py:13" in s.evidence[0].text


def test_without_a_trace_the_source_tells() -> None:
    source = "h = torch.exp(x)\nh[0] = 1\nh[mask] = 0\nloss.backward()\n"
    crash = Crash(kind="RuntimeError", message=INPLACE, place=place_in(source, "loss.backward"))
    s = assert_suspects(make_record(crash=crash, sources={"train.py": source}), "inplace-modification")
    assert s.place is not None and s.place.line == 3


class TestRetainedGraph(CauseTestCase):
    cause = "retained-graph"

    def sick(self) -> Iterable[Record]:
        yield twice("state")
        yield twice()
        yield twice("loss", backwards=1, others=(Place("train.py", 5),), steps=0)
        yield twice(steps=0, backwards=2)
        yield stepped(backwards=2, others=())

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "another loss's optimizer stepped in between", stepped()
        yield "overwritten", written()


def test_what_carries_the_graph_on() -> None:
    s = assert_suspects(twice("loss", "state"), "retained-graph")
    assert "`state`, set at train.py:19" in s.evidence[0].text and s.place is not None and s.place.line == 19
    assert added(s.fix.diff) == ["    state = state.detach()"]


def test_weights_that_were_stepped_under_a_carried_graph_are_one_illness() -> None:
    d = diagnose(stepped(backwards=2, others=(), attached=(Attached(name="state", file="train.py", function="<module>"),)))
    assert [c.cause for c in d.causes] == ["retained-graph"] and "inplace-modification" in d.causes[0].consequences


# -- memory ---------------------------------------------------------------------------------------------------------

FULL = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8589934592 bytes. Error code 12"
)


def full(**use: Any) -> Record:
    given = {
        "requested": 2**33,
        "available": 2**34,
        "resident": 2**33,
        "parameters": 2**30,
        "optimizer": 2**31,
        "batch": 2**28,
        "largest": (("x", 2**28),),
    }
    loader = Loader(index=0, role="train", batch_size=64, built_at=place_in(SOURCE, "DataLoader"))
    return crashed(FULL, "model(x)", memory=MemoryUse(**(given | use)), steps=3, facts={"loaders": [loader]})  # type: ignore[arg-type]


def killed(last: float, exit_: str = "SIGKILL", finished: bool = False) -> Record:
    rss = [2.0 * 2**30, last]
    run = Run(steps=50, backwards=50, exit=exit_, finished=finished)
    return make_record(run=run, series={"memory/rss": ([0, 40], rss), "loss/train": falling(2, 1, 50)}, environment=Environment(memory=16 * 2**30))


class TestOutOfMemory(CauseTestCase):
    cause = "out-of-memory"

    def sick(self) -> Iterable[Record]:
        yield full()
        yield full(requested=None, largest=())

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "killed by somebody", killed(4.0 * 2**30)
        yield "a time limit", killed(15.0 * 2**30, exit_="SIGTERM")
        yield "it ended by itself", killed(15.0 * 2**30, exit_="SIGKILL", finished=True)
        yield "another crash", linear()


def test_what_held_memory_and_what_to_cut() -> None:
    s = assert_suspects(full(), "out-of-memory")
    assert "8 GB more could not be had (16 GB in all)" in s.evidence[0].text
    assert "weights 1 GB, optimizer state 2 GB, the batch 256 MB" in s.evidence[1].text and "`x` 256 MB" in s.evidence[1].text
    assert added(s.fix.diff) == ["loader = DataLoader(data, batch_size=32, shuffle=True)"]


def test_the_operating_system_kills_without_a_word() -> None:
    s = assert_suspects(killed(15.0 * 2**30), "out-of-memory", "likely")
    assert "held 15 GB of 16 GB" in s.evidence[0].text


def test_a_request_that_cannot_be_meant() -> None:
    assert "look at the shapes" in assert_suspects(full(requested=2**40), "out-of-memory").fix.text


# -- what the run died of comes first -------------------------------------------------------------------------------


def test_the_deadly_cause_comes_before_what_was_there_too() -> None:
    stale = Optimizer(index=0, steps=100, intervals=99, stale_intervals=99, stale_norm=1.0, stepped_at=place_in(SOURCE, "optimizer.step()"))
    record = crashed(FULL, "model(x)", memory=MemoryUse(requested=2**33), steps=100, facts={"losses": [Loss(index=0)], "optimizers": [stale]})
    assert [c.cause for c in diagnose(record).causes] == ["out-of-memory", "missing-zero-grad"]


def test_graphs_that_were_kept_filled_the_memory() -> None:
    facts = {
        "kept": [Kept(loss=0, marked=100, alive=100, oldest=99, backwards=100)],
        "losses": [Loss(index=0)],
        "optimizers": [Optimizer(index=0, steps=100)],
    }
    d = diagnose(crashed(FULL, "model(x)", memory=MemoryUse(requested=2**33), steps=100, facts=facts))
    assert [c.cause for c in d.causes] == ["retained-graph"] and "out-of-memory" in d.causes[0].consequences


def test_a_crash_of_unknown_cause_is_not_put_on_another_illness() -> None:
    facts = {
        "kept": [Kept(loss=0, marked=100, alive=100, oldest=99, backwards=100)],
        "losses": [Loss(index=0)],
        "optimizers": [Optimizer(index=0, steps=100)],
    }
    d = diagnose(crashed("[Errno 28] No space left on device", "model(x)", kind="OSError", steps=100, facts=facts))
    assert d.causes[0].cause == "retained-graph" and "stopped with OSError at train.py:20, which this does not explain" in d.reason


def test_causes_of_crashes_say_nothing_without_one() -> None:
    for cause in ("shape-mismatch", "device-mismatch", "inplace-modification", "out-of-memory"):
        assert_silent(make_record(steps=200, series={"loss/train": falling(2, 1, 200)}), cause)
        assert_silent(crashed("", kind="KeyboardInterrupt"), cause)


def test_a_process_that_was_killed_is_not_called_healthy() -> None:
    held = {"optimizers": [Optimizer(index=0, steps=200)], "series": {"loss/train": falling(2, 1, 200)}}
    for signal, finished, verdict in (
        ("SIGKILL", False, "undecided"),
        ("SIGSEGV", False, "undecided"),
        ("SIGTERM", False, "healthy"),
        (0, True, "healthy"),
    ):
        d = diagnose(make_record(run=Run(steps=200, backwards=200, exit=signal, finished=finished), **held))
        assert d.verdict == verdict, signal
        assert verdict == "healthy" or f"ended by {signal} after 200 steps" in d.reason


def test_the_void_of_a_mask_is_left_out_and_not_given_an_output() -> None:
    record = label((255.0,), highest=255.0)
    made = SOURCE.replace("F.cross_entropy(model(x), y)", "criterion(model(x), y)") + "criterion = nn.CrossEntropyLoss()\n"
    crash = record.facts.crash
    assert crash is not None
    found = make_record(run=record.facts.run, crash=replace(crash, call="criterion(model(x), y)"), sources={"train.py": made})
    s = assert_suspects(found, "invalid-label")
    assert added(s.fix.diff) == ["criterion = nn.CrossEntropyLoss(ignore_index=255)"]
    assert s.place is not None and s.place.text == "criterion = nn.CrossEntropyLoss()"
