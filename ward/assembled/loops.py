"""How it is trained: batches, optimizer, schedule, and the loop in the styles that people write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

LOADERS = """
from torch.utils.data import DataLoader, TensorDataset
train_loader = DataLoader(TensorDataset(X, Y), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(Xv, Yv), batch_size=128)
"""
BY_HAND = """
def train_batches():
    for rows in torch.randperm(len(X)).split(64):
        yield X[rows], Y[rows]
"""
DRAWN = """
def train_batches():
    for _ in range(len(X) // 64):
        rows = torch.randint(0, len(X), (64,))
        yield X[rows], Y[rows]
"""
BATCHES = (
    (LOADERS, "train_loader", "val_loader"),
    (BY_HAND, "train_batches()", "zip(Xv.split(200), Yv.split(200))"),
    (DRAWN, "train_batches()", "[(Xv, Yv)]"),
)
OPTIMIZERS = (
    "torch.optim.Adam(model.parameters(), lr=2e-3)",
    "torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)",
    "torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)",
    "torch.optim.RMSprop(model.parameters(), lr=1e-3)",
)
SCHEDULERS = (
    "",
    "",
    "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)",
    "torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)",
)
CLEARS = ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "model.zero_grad()")
CLIPS = ("", "", "torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)", "nn.utils.clip_grad_value_(model.parameters(), 1.0)")


@dataclass(frozen=True)
class Parts:
    loss: str
    training: str
    validation: str
    """Expressions that give batches."""
    optimizer: str
    schedule: str
    clear: str
    clip: str

    @property
    def setup(self) -> list[str]:
        return ["model = Net()", f"optimizer = {self.optimizer}", *([f"scheduler = {self.schedule}"] if self.schedule else [])]

    @property
    def update(self) -> list[str]:
        return ["loss.backward()", *([self.clip] if self.clip else []), "optimizer.step()"]

    @property
    def epoch_ends(self) -> list[str]:
        return ["scheduler.step()"] if self.schedule else []


def draw(r: Random, loss: str) -> tuple[str, Parts]:
    """The text that makes batches, and everything else that a loop needs."""
    text, training, validation = r.choice(BATCHES)
    return text, Parts(loss, training, validation, r.choice(OPTIMIZERS), r.choice(SCHEDULERS), r.choice(CLEARS), r.choice(CLIPS))


def deeper(lines: Sequence[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def _train(p: Parts) -> list[str]:
    inside = [p.clear, f"loss = {p.loss}", *p.update, "total += loss.item() * len(x); seen += len(x)"]
    return ["model.train()", "total, seen = 0.0, 0", f"for x, y in {p.training}:", *deeper(inside)]


def _validate(p: Parts) -> list[str]:
    inside = [f"for x, y in {p.validation}:", f"    known += ({p.loss}).item() * len(x); rows += len(x)"]
    return ["model.eval()", "known, rows = 0.0, 0", "with torch.no_grad():", *deeper(inside)]


TELL = "print(f'epoch {epoch + 1} train {total / seen:.4f} val {known / rows:.4f}')"


def plain(p: Parts) -> list[str]:
    return [*p.setup, "for epoch in range(EPOCHS):", *deeper([*_train(p), *_validate(p), *p.epoch_ends, TELL])]


def functions(p: Parts) -> list[str]:
    loop = ["total, seen = train_epoch(model, optimizer)", "known, rows = validate(model)", *p.epoch_ends, TELL]
    return [
        "def train_epoch(model, optimizer):",
        *deeper([*_train(p), "return total, seen"]),
        "def validate(model):",
        *deeper([*_validate(p), "return known, rows"]),
        *p.setup,
        "for epoch in range(EPOCHS):",
        *deeper(loop),
    ]


def phases(p: Parts) -> list[str]:
    """One loop for training and validation; the best epoch's weights are put back at the end."""
    inside = [p.clear, "with torch.set_grad_enabled(phase == 'train'):", *deeper([f"loss = {p.loss}", "if phase == 'train':", *deeper(p.update)])]
    batches = [
        f"for x, y in ({p.training} if phase == 'train' else {p.validation}):",
        *deeper([*inside, "total += loss.item() * len(x); seen += len(x)"]),
    ]
    keep = ["if phase == 'val' and total / seen < best:", "    best, weights = total / seen, copy.deepcopy(model.state_dict())"]
    mode = ["if phase == 'train':", "    model.train()", "else:", "    model.eval()", "total, seen = 0.0, 0"]
    loop = [
        "for phase in ('train', 'val'):",
        *deeper([*mode, *batches, "print(f'{epoch + 1} {phase} loss: {total / seen:.4f}')", *keep]),
        *p.epoch_ends,
    ]
    return [
        "import copy",
        *p.setup,
        "best, weights = float('inf'), copy.deepcopy(model.state_dict())",
        "for epoch in range(EPOCHS):",
        *deeper(loop),
        "model.load_state_dict(weights)",
    ]


def steps(p: Parts) -> list[str]:
    """No epochs: batches come from an endless stream."""
    stream = ["def forever():", "    while True:", f"        yield from {p.training}", "stream, losses = forever(), []"]
    inside = ["model.train()", "x, y = next(stream)", f"loss = {p.loss}", p.clear, *p.update, "losses.append(loss.item())"]
    now_and_then = [
        "model.eval()",
        "with torch.no_grad():",
        f"    known = [({p.loss}).item() for x, y in {p.validation}]",
        *p.epoch_ends,
        "print(f'step {step + 1}: train {np.mean(losses[-18:]):.4f} valid {np.mean(known):.4f}')",
    ]
    return [*stream, *p.setup, "for step in range(18 * EPOCHS):", *deeper([*inside, "if step % 18 == 17:", *deeper(now_and_then)])]


def wrapped(p: Parts) -> list[str]:
    """Behind DataParallel, one function for both passes."""
    inside = [
        "with torch.set_grad_enabled(train):",
        f"    loss = {p.loss}",
        "if train:",
        *deeper([p.clear, *p.update]),
        "total += loss.item() * len(x); seen += len(x)",
    ]
    body = ["model.train(train)", "total, seen = 0.0, 0", "for x, y in batches:", *deeper(inside), "return total / seen"]
    first, *others = p.setup
    loop = [f"print(epoch, run({p.training}, True), run({p.validation}, False))", *p.epoch_ends]
    return [first, "model = nn.DataParallel(model)", *others, "def run(batches, train):", *deeper(body), "for epoch in range(EPOCHS):", *deeper(loop)]


def inside_the_model(p: Parts) -> list[str]:
    """The model is given the targets too, and gives its loss."""
    wrapper = [
        "class WithLoss(nn.Module):",
        *deeper(["def __init__(self, net):", "    super().__init__()", "    self.net = net", "def forward(self, inputs, labels):"]),
        *deeper(["model, x, y = self.net, inputs, labels", f"return {{'loss': {p.loss}}}"], 2),
    ]
    first, *others = p.setup
    train = [f"for x, y in {p.training}:", *deeper(["loss = model(inputs=x, labels=y)['loss']", *p.update, p.clear, "log.append(loss.item())"])]
    known = ["with torch.no_grad():", f"    known = [model(inputs=x, labels=y)['loss'].item() for x, y in {p.validation}]"]
    loop = [
        "model.train()",
        "log = []",
        *train,
        "model.eval()",
        *known,
        *p.epoch_ends,
        "print({'epoch': epoch, 'loss': np.mean(log), 'eval_loss': np.mean(known)})",
    ]
    return [*wrapper, first, "model = WithLoss(model)", *others, "for epoch in range(EPOCHS):", *deeper(loop)]


STYLES: tuple[Callable[[Parts], list[str]], ...] = (plain, functions, phases, steps, wrapped, inside_the_model)
