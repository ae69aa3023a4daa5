"""Each intervention changes what it says, and the record tells of the treated program."""

from __future__ import annotations

from typing import Any

import pytest

from sickbay.record.reader import Record
from trials.conftest import Treated

LOOP = """
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
REGRESSION = f"""
model = nn.Linear(4, 1)
x, y = torch.randn(64, 4), torch.randn(64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
start = model.weight.detach().clone()
for step in range(6):
    loss = F.mse_loss(model(x).squeeze(-1), y)
{LOOP}
"""
CLASSES = "x = torch.randn(96, 8); y = x[:, :3].argmax(1)\n"


def losses(record: Record) -> list[float]:
    return [round(float(v), 5) for v in record.series("loss/train").values]


def flat(batches: list[list[float]]) -> list[float]:
    return [value for batch in batches for value in batch]


def rates(record: Record) -> list[float]:
    return [round(float(v), 6) for v in record.series("lr").values]


def test_a_treated_run_says_so(treated: Treated) -> None:
    record, _ = treated("lr=x0.1,clip=2", REGRESSION)
    assert record.facts.run.treatment == "learning rate ×0.1 and gradients clipped at 2"


def test_lr_is_scaled_and_schedules_keep_their_shape(treated: Treated) -> None:
    scheduled = REGRESSION.replace("for step", "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)\nfor step") + "    scheduler.step()\n"
    plain, names = treated("lr=x1", scheduled)
    assert rates(plain) == [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]
    record, names = treated("lr=x0.1", scheduled)
    assert rates(record) == [0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]
    assert names["optimizer"].param_groups[0]["lr"] == pytest.approx(0.0125), "the script sees its own rate"
    record, _ = treated("lr=0.3", scheduled)
    assert rates(record) == [0.3, 0.3, 0.15, 0.15, 0.075, 0.075]
    record, _ = treated("hold-schedule", scheduled)
    assert rates(record) == [0.1] * 6
    unstepped = REGRESSION.replace("range(6)", "range(14)").replace("for step", "torch.optim.lr_scheduler.LinearLR(optimizer, 0.1)\nfor step")
    assert rates(treated("hold-schedule", unstepped)[0]) == pytest.approx([0.01] * 10 + [0.1] * 4), "a warm-up that nobody steps"
    record, _ = treated("warmup=4", REGRESSION)
    assert rates(record) == [0.025, 0.05, 0.075, 0.1, 0.1, 0.1]
    record, _ = treated("warmup=50%", REGRESSION, total=8)
    assert rates(record) == [0.025, 0.05, 0.075, 0.1, 0.1, 0.1]
    record, _ = treated("sweep-lr=0.001:0.1:3", REGRESSION)
    assert rates(record)[:4] == [0.001, 0.01, 0.1, 0.1]
    record, _ = treated("lr=x0.1,warmup=2", REGRESSION)
    assert rates(record)[:3] == [0.005, 0.01, 0.01]


def test_lr_reaches_updates_that_are_made_by_hand(treated: Treated) -> None:
    text = """
w = torch.zeros(4, requires_grad=True)
x, y = torch.randn(64, 4), torch.randn(64)
for step in range(6):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= RATE * w.grad
        w.grad = None
"""
    slow, _ = treated("lr=x0.1", text.replace("RATE", "0.1"))
    assert losses(slow) == losses(treated("lr=x1", text.replace("RATE", "0.01"))[0])


def test_clip_bounds_the_update(treated: Treated) -> None:
    record, _ = treated("clip=0.001", REGRESSION)
    assert max(record.series("grad_norm").values) <= 0.00101
    assert all(c.kind == "hand" for c in record.facts.clippings), "our clipping is not a call of the script's"


def test_zero_grad_goes_where_it_belongs(treated: Treated) -> None:
    right, _ = treated("lr=x1", REGRESSION)
    missing, _ = treated("zero-grad", REGRESSION.replace("    optimizer.zero_grad()\n", ""))
    misplaced, _ = treated(
        "zero-grad", REGRESSION.replace("    optimizer.zero_grad()\n", "").replace("backward()\n", "backward()\n    optimizer.zero_grad()\n")
    )
    assert losses(missing) == losses(misplaced) == losses(right)


def test_missing_calls_are_made(treated: Treated) -> None:
    right, _ = treated("lr=x1", REGRESSION)
    no_step, _ = treated("step-after-backward", REGRESSION.replace("    optimizer.step()\n", ""))
    assert losses(no_step) == losses(right)[:4], "for two passes the script is watched for steps of its own"
    no_backward, _ = treated("backward-before-step", REGRESSION.replace("    loss.backward()\n", ""))
    assert losses(no_backward) == losses(right)


LOADED = f"""
from torch.utils.data import DataLoader, TensorDataset
x, y = torch.arange(32.)[:, None], torch.arange(32.)
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
seen = []
for epoch in range(2):
    for a, b in loader:
        seen.append(b.tolist())
        loss = F.mse_loss(model(a).squeeze(-1), b)
{LOOP.replace("    ", "        ")}
"""


def test_shuffle_draws_every_sample_once_and_leaves_the_scripts_randomness_alone(treated: Treated) -> None:
    _, names = treated("shuffle", LOADED + "last = torch.rand(1)\n")
    epochs = [flat(names["seen"][:4]), flat(names["seen"][4:])]
    assert [sorted(e) for e in epochs] == [list(range(32))] * 2
    assert epochs[0] != epochs[1] != list(range(32))
    _, plain = treated("lr=x1", LOADED + "last = torch.rand(1)\n")
    assert names["last"] == plain["last"]


def test_one_batch_is_the_same_one_over_and_over(treated: Treated) -> None:
    _, names = treated("one-batch", LOADED)
    assert names["seen"] == [list(range(8))] * 8
    _, names = treated("one-batch=2", LOADED)
    assert names["seen"] == [[0, 1]] * 8
    bare = (
        LOADED.replace("TensorDataset(x, y)", "torch.stack([x[:, 0], y], 1)")
        .replace("a, b in loader", "both in loader")
        .replace("seen.append", "a, b = both[:, :1], both[:, 1]; seen.append")
    )
    assert treated("one-batch", bare)[1]["seen"] == [list(range(8))] * 8, "a tensor as the data set"
    drawn = REGRESSION.replace(
        "    loss = F", "    x = torch.randn(8, 4); y = torch.randn(8); drawn = globals().setdefault('drawn', []); drawn.append(x)\n    loss = F"
    )
    _, names = treated("one-batch", drawn)
    assert all(bool((d == names["drawn"][1]).all()) for d in names["drawn"][1:]), "a script that draws its batches itself draws the same"


def test_samples_are_left_out(treated: Treated) -> None:
    _, names = treated("drop-samples=3,9", LOADED)
    assert flat(names["seen"][:4]) == [i for i in range(32) if i not in (3, 9)]
    broken = LOADED.replace("loader =", "x[5] = float('nan'); y[9] = float('inf')\nloader =")
    record, names = treated("drop-nonfinite", broken)
    assert 5.0 not in names["seen"][0] and len(names["seen"][0]) == len(names["seen"][1]) == 7
    assert not record.facts.nonfinite


def test_batches_go_on_where_the_script_starts_anew(treated: Treated) -> None:
    again = LOADED.replace("    for a, b in loader:", "    for _ in range(4):\n        a, b = next(iter(loader))")
    _, names = treated("lr=x1", again)
    assert names["seen"] == [list(range(8))] * 8
    _, names = treated("re-iterate", again)
    assert sorted(flat(names["seen"][:4])) == list(range(32))


SOFTMAX = f"""
{CLASSES}
model = nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(8):
    loss = F.cross_entropy(model(x), y)
{LOOP}
with torch.no_grad():
    final = F.cross_entropy(model(x), y)
"""


def test_logits_are_recovered_exactly(treated: Treated) -> None:
    record, names = treated("feed-logits", SOFTMAX)
    right, plain = treated("lr=x1", SOFTMAX.replace(", nn.Softmax(dim=1)", ""))
    assert losses(record) == pytest.approx(losses(right), abs=1e-4)
    assert float(names["final"]) == pytest.approx(float(plain["final"]), abs=1e-4), "in evaluation too"
    log_softmax = SOFTMAX.replace("F.cross_entropy(model(x), y)", "F.nll_loss(F.log_softmax(model(x), dim=1), y)")
    assert losses(treated("feed-logits", log_softmax)[0]) == pytest.approx(losses(right), abs=1e-4)
    probabilities = SOFTMAX.replace(", nn.Softmax(dim=1)", "").replace("F.cross_entropy(model(x), y)", "F.nll_loss(model(x), y)")
    assert losses(treated("apply-log-softmax", probabilities)[0]) == pytest.approx(losses(right), abs=1e-4)


def test_what_needs_no_treatment_is_left_alone(treated: Treated) -> None:
    right = SOFTMAX.replace(", nn.Softmax(dim=1)", "")
    for treatment in ("feed-logits", "linear-output", "reshape-target", "zero-grad", "add-parameters", "stable-loss", "train-mode", "no-dropout"):
        assert losses(treated(treatment, right)[0]) == losses(treated("lr=x1", right)[0]), treatment


def test_the_last_activation_is_skipped(treated: Treated) -> None:
    text = REGRESSION.replace("nn.Linear(4, 1)", "nn.Sequential(nn.Linear(4, 1), nn.{}())").replace("model.weight", "model[0].weight")
    right, _ = treated("lr=x1", REGRESSION)
    for kind in ("ReLU", "Sigmoid", "Tanh", "Softplus"):
        assert losses(treated("linear-output", text.format(kind))[0]) == pytest.approx(losses(right), abs=1e-5), kind


def test_the_target_is_reshaped(treated: Treated) -> None:
    right, _ = treated("lr=x1", REGRESSION)
    summed = "(model(x) - (y + 0 * model(x).detach())).pow(2).mean()"
    for call in ("F.mse_loss(model(x), y)", "((model(x) - y) ** 2).mean()", "(y - model(x)).pow(2).mean()", summed):
        text = REGRESSION.replace("F.mse_loss(model(x).squeeze(-1), y)", call)
        assert losses(treated("reshape-target", text)[0]) == pytest.approx(losses(right), abs=1e-5), call
    pairs = REGRESSION.replace("F.mse_loss(model(x).squeeze(-1), y)", "((model(x) - model(x).T) - (y[:, None] - y[None])).pow(2).mean()")
    assert losses(treated("reshape-target", pairs)[0]) == losses(treated("lr=x1", pairs)[0]), "pairs are meant"


def test_parameters_are_added_unfrozen_and_told_apart(treated: Treated) -> None:
    two = f"""
{CLASSES}
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model[2].parameters(), lr=0.01)
start = model[0].weight.detach().clone()
for step in range(4):
    loss = F.cross_entropy(model(x), y)
{LOOP}
moved = bool((model[0].weight != start).any())
"""
    assert not treated("lr=x1", two)[1]["moved"]
    record, names = treated("add-parameters", two)
    assert names["moved"]
    assert len(record.facts.optimizers[0].parameters) == 4
    frozen = two.replace("optimizer =", "for p in model[0].parameters(): p.requires_grad_(False)\noptimizer =")
    assert treated("unfreeze", frozen)[1]["moved"]


def test_modes_are_forced_for_the_call_alone(treated: Treated) -> None:
    text = f"""
model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 1))
x, y = torch.randn(64, 4), torch.randn(64, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
MODE
for step in range(3):
    loss = F.mse_loss(model(x), y)
{LOOP}
with torch.no_grad():
    same = bool((model(x) == model(x)).all())
"""
    _, names = treated("train-mode", text.replace("MODE", "model.eval()"))
    assert names["same"], "evaluation is as the script has it"
    assert not names["model"].training
    assert not treated("lr=x1", text.replace("MODE", ""))[1]["same"]
    assert treated("eval-mode", text.replace("MODE", ""))[1]["same"]
    always = text.replace("MODE", "plain, model = model, lambda x: F.dropout(plain(x), 0.5)\nplain.eval()")
    assert not treated("lr=x1", always)[1]["same"]
    assert treated("eval-mode", always)[1]["same"], "a function is not told the mode"


def test_inputs_are_standardised(treated: Treated) -> None:
    text = REGRESSION.replace("torch.randn(64, 4), torch", "torch.randn(64, 4) * torch.tensor([1., 100., 1e4, 1e-3]) + 50, torch").replace(
        "lr=0.1", "lr=0.01"
    )
    record, _ = treated("standardise-input", text)
    assert losses(record)[-1] < losses(record)[0] < 5
    assert treated("lr=x1", text)[0].series("loss/train").values[-1] > 1e6


def test_weights_start_anew_with_the_scripts_randomness_as_it_was(treated: Treated) -> None:
    text = REGRESSION.replace("x, y =", "nn.init.zeros_(model.weight)\nx, y =") + "last = torch.rand(1)\n"
    record, names = treated("reinit", text)
    plain, other = treated("lr=x1", text)
    assert losses(record)[0] != losses(plain)[0]
    assert names["last"] == other["last"]


@pytest.mark.parametrize(
    "differentiate", ["loss.backward(); grads = [w.grad, v.grad]; w.grad = v.grad = None", "grads = torch.autograd.grad(loss, [w, v])"]
)
def test_plain_tensors_start_anew_too(treated: Treated, differentiate: str) -> None:
    text = f"""
w, v = torch.zeros(4, 16, requires_grad=True), torch.zeros(16, 1, requires_grad=True)
x = torch.randn(64, 4)
y = x[:, 0] * x[:, 1]
for step in range(40):
    loss = F.mse_loss((torch.tanh(x @ w) @ v)[:, 0], y)
    {differentiate}
    with torch.no_grad():
        for p, g in zip((w, v), grads):
            p -= 0.3 * g
last = torch.rand(1)
"""
    _, names = treated("reinit", text)
    _, other = treated("lr=x1", text)
    assert not bool(other["w"].any()), "zeros stay zeros"
    assert bool(names["w"].any()) and bool(names["v"].any())
    assert names["last"] == other["last"]


def test_layers_are_bent_and_normalised(treated: Treated) -> None:
    deep = f"""
{CLASSES}
model = nn.Sequential(nn.Linear(8, 8), nn.KIND(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = F.cross_entropy(model(x), y)
{LOOP}
"""
    plain, _ = treated("lr=x1", deep.replace("KIND", "Identity"))
    bent, _ = treated("insert-relu=0", deep.replace("KIND", "Identity"))
    relu, _ = treated("lr=x1", deep.replace("KIND", "ReLU"))
    assert losses(bent) == losses(relu) != losses(plain)
    leaky, _ = treated("leaky-relu", deep.replace("KIND", "ReLU"))
    assert losses(leaky) == losses(treated("lr=x1", deep.replace("KIND", "LeakyReLU"))[0])
    for treatment, kind in (("normalise-before-activation", "Tanh()"), ("relu-and-normalisation", "Sigmoid()"), ("group-norm", "BatchNorm1d(8)")):
        text = deep.replace("KIND()", kind)
        assert losses(treated(treatment, text)[0]) != losses(treated("lr=x1", text)[0]), treatment


RECALL = f"""
x = torch.randn(64, 30, 3); y = (x[:, 0, 0] > 0).long()
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.RNN(3, 16, batch_first=True), nn.Linear(16, 2)
    def forward(self, x):
        outputs, last = self.rnn(x)
        assert outputs.shape == (64, 30, 16) and last.shape == (1, 64, 16)
        return self.out(outputs[:, -1])
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(80):  # half as many are enough on most machines, not on all
    loss = F.cross_entropy(model(x), y)
{LOOP}
after = torch.rand(1).item()
"""


def test_a_recurrent_layer_is_given_a_memory(treated: Treated) -> None:
    _, untouched = treated("lr=x1", RECALL)
    gated, names = treated("gated-recurrence", RECALL)
    assert names["model"].rnn.weight_ih_l0.shape == (4 * 16, 3), "four gates"
    assert losses(gated)[-1] < 0.5 * losses(gated)[0]
    assert names["after"] == untouched["after"], "the script's own random numbers are the same"


def test_classes_that_are_fitted_as_numbers_have_an_output_each(treated: Treated) -> None:
    text = f"""
{CLASSES.replace("96", "400")}
y = y * 3  # 0, 3 and 6
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(150):
    loss = F.mse_loss(model(x).squeeze(1), y.float())
{LOOP}
with torch.no_grad():
    right = (model(x).squeeze(1).round() == y).float().mean().item()
"""
    record, names = treated("right-loss", text)
    assert names["right"] > 0.95, "the script's own rounding finds the class"
    assert record.series("loss/train").values[-1] < 0.2
    assert treated("lr=x1", text)[1]["right"] < 0.9


@pytest.mark.parametrize("loss", ["binary_cross_entropy_with_logits", "cross_entropy"])
def test_quantities_that_are_taken_for_probabilities_are_fitted(treated: Treated, loss: str) -> None:
    text = f"""
x = torch.randn(64, 4); y = 3 * x[:, :2] - 1
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = F.LOSS(model(x), y)
{LOOP}
"""
    fitted, _ = treated("lr=x1", text.replace("LOSS", "mse_loss"))
    assert losses(treated("right-loss", text.replace("LOSS", loss))[0]) == losses(fitted)


def test_regularisers_go_off(treated: Treated) -> None:
    text = f"""
{CLASSES}
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
for step in range(3):
    loss = F.cross_entropy(model(x), y, label_smoothing=0.3)
{LOOP}
"""
    off = text.replace("nn.Dropout(0.5), ", "").replace("weight_decay=0.5", "weight_decay=0").replace("label_smoothing=0.3", "label_smoothing=0.0")
    plain = losses(treated("lr=x1", off)[0])
    assert losses(treated("no-dropout,no-weight-decay,no-label-smoothing", text)[0]) == plain
    assert losses(treated("no-regularisation", text)[0]) == plain


def test_gradients_of_several_batches_make_one_update(treated: Treated) -> None:
    plain = losses(treated("lr=x1", REGRESSION)[0])
    three = losses(treated("accumulate=3", REGRESSION)[0])
    assert three == [plain[0]] * 3 + [plain[1]] * 3, "the same batch every time: three steps of it are one"


def test_rare_classes_weigh_as_much_as_frequent_ones(treated: Treated) -> None:
    text = f"""
x = torch.randn(200, 4); y = (torch.arange(200) % 20 == 0).long()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for step in range(60):
    loss = nn.LOSS
{LOOP}
share = float(model(x).softmax(1)[:, 1].mean().detach())
"""
    for call in ("CrossEntropyLoss()(model(x), y)", "BCEWithLogitsLoss()(model(x)[:, 1] - model(x)[:, 0], y.float())"):
        script = text.replace("LOSS", call)
        assert treated("lr=x1", script)[1]["share"] == pytest.approx(0.05, abs=0.03), call
        assert treated("class-weights", script)[1]["share"] == pytest.approx(0.5, abs=0.1), call


def test_accumulated_losses_are_scaled(treated: Treated) -> None:
    text = """
model = nn.Linear(4, 1)
x, y = torch.randn(64, 4), torch.randn(64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    for part in range(4):
        loss = F.mse_loss(model(x[part::4]).squeeze(-1), y[part::4])SCALED
        loss.backward()
    optimizer.step()
"""
    _, names = treated("scale-accumulation=4", text.replace("SCALED", ""))
    _, right = treated("lr=x1", text.replace("SCALED", " / 4"))
    assert names["model"].weight.tolist()[0] == pytest.approx(right["model"].weight.tolist()[0], abs=1e-6)


def test_a_stable_loss_stays_finite(treated: Treated) -> None:
    text = REGRESSION.replace("F.mse_loss(model(x).squeeze(-1), y)", "-(model(x).squeeze(-1).clamp(0, 1).log() * 0.01).mean() + (model(x) * 0).sum()")
    assert all(v == v and abs(v) < 1e3 for v in losses(treated("stable-loss", text)[0]))


def test_empty_counts_divide_nothing(treated: Treated) -> None:
    text = REGRESSION.replace("F.mse_loss(model(x).squeeze(-1), y)", "((model(x).squeeze(-1) - y) ** 2 * mask).sum() / mask.sum()").replace(
        "start =", "mask = torch.zeros(64, dtype=torch.long)\nstart ="
    )
    assert losses(treated("stable-loss", text)[0]) == [0.0] * 6


def test_the_loss_follows_the_targets(treated: Treated) -> None:
    text = f"""
x = torch.randn(64, 8); y = (x[:, :3] > 0).float()
model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = F.LOSS
{LOOP}
"""
    right, _ = treated("lr=x1", text.replace("LOSS", "binary_cross_entropy_with_logits(model(x), y)"))
    assert losses(treated("right-loss", text.replace("LOSS", "cross_entropy(model(x), y)"))[0]) == losses(right)
    classes = text.replace("y = (x[:, :3] > 0).float()", "y = x[:, :3].argmax(1)")
    right, _ = treated("lr=x1", classes.replace("LOSS", "cross_entropy(model(x), y)"))
    assert losses(treated("right-loss", classes.replace("LOSS", "mse_loss(model(x), F.one_hot(y, 3).float())"))[0]) == losses(right)


def test_seeds_move(treated: Treated) -> None:
    text = "torch.manual_seed(3)\nfirst = torch.rand(1)\n" + REGRESSION
    values = {float(treated(f"seed={n}", text)[1]["first"]) for n in (0, 1, 2, 1)}
    assert len(values) == 3


def test_a_trial_stops_where_it_is_told_and_finally_blocks_run(treated: Treated) -> None:
    text = "ended = []\ntry:\n" + "".join(f"    {line}\n" for line in REGRESSION.splitlines()) + "finally:\n    ended.append(step)\n"
    record, names = treated("lr=x1", text, steps=3)
    assert record.facts.run.steps == 3
    assert names["ended"] == [2]


def test_untreated_hooks_leave_nothing_behind(treated: Treated) -> None:
    import torch
    from torch.optim import optimizer as module

    before: dict[str, Any] = {"relu": torch.relu, "sub": torch.Tensor.__sub__, "hooks": len(module._global_optimizer_pre_hooks)}
    treated("leaky-relu,reshape-target,clip=1,lr=x0.5", REGRESSION)
    assert before == {"relu": torch.relu, "sub": torch.Tensor.__sub__, "hooks": len(module._global_optimizer_pre_hooks)}
