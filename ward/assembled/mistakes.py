"""Mistakes, as changes of a script's text; None where a script has nothing that the mistake could be made in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Change = Callable[[str], str | None]


@dataclass(frozen=True)
class Mistake:
    cause: str
    change: Change


def replaced(pattern: str, by: str, *, everywhere: bool = False, needs: str = "") -> Change:
    def change(text: str) -> str | None:
        if needs and not re.search(needs, text):
            return None
        new, found = re.subn(pattern, by, text, count=0 if everywhere else 1, flags=re.MULTILINE)
        return new if found else None

    return change


def first_of(*changes: Change) -> Change:
    return lambda text: next((new for change in changes if (new := change(text)) is not None), None)


def both(one: Change, other: Change) -> Change:
    def change(text: str) -> str | None:
        new = one(text)
        return other(new) if new is not None else None

    return change


def lines_after(pattern: str, *lines: str, needs: str = "") -> Change:
    """New lines beneath one that fits, as deep as it stands."""
    return replaced(f"^( *)({pattern}.*)\\n", r"\1\2\n" + "".join(rf"\1{line}\n" for line in lines), needs=needs)


DIFFERS_BY_MODE = r"BatchNorm|Dropout"
SPLIT = r"X, Xv, Y, Yv = X\[:1[0-9]00\]"
NO_SCHEDULE = r"\A(?![\s\S]*scheduler)"
NO_RECURRENCE = r"\A(?![\s\S]*nn\.(GRU|LSTM))"
NEW_MODEL = r"^( *)(model = Net\(\))\n"
FREEZE = r"\1\2\n\1for p in list(model.parameters())[:-2]:\n\1    p.requires_grad = False\n"

MISTAKES: Mapping[str, Mistake] = {
    "gradients are never cleared": Mistake("missing-zero-grad", replaced(r"^ *(optimizer|model)\.zero_grad\(.*\)\n", "", everywhere=True)),
    "no step is taken": Mistake("missing-optimizer-step", replaced(r"^( *)optimizer\.step\(\)\n", r"\1pass\n")),
    "training mode is never set": Mistake("eval-mode-in-training", replaced(r"^( *)model\.train\(\)\n", r"\1pass\n", needs=DIFFERS_BY_MODE)),
    "evaluation mode is never set": Mistake("train-mode-in-evaluation", replaced(r"^( *)model\.eval\(\)\n", r"\1pass\n", needs=DIFFERS_BY_MODE)),
    "softmax in the model": Mistake(
        "softmax-before-cross-entropy", replaced(r"return self\.head\(h\)$", "return F.softmax(self.head(h), dim=1)", needs=r"entropy\(model\(x\), y")
    ),
    "a column too many": Mistake(
        "shape-broadcast", replaced(r"return self\.c\(h\)(\.squeeze\(-1\)|\[:, 0\]|\.view\(-1\)|\.flatten\(\))$", "return self.c(h)")
    ),
    "the body is cut off": Mistake("detached-graph", replaced(r"h = self\.(body|features)\(x\)", r"h = self.\1(x).detach()", needs=r"self\.body")),
    "only the head is given": Mistake(
        "optimizer-missing-parameters",
        both(
            replaced(r"Adam\(model\.parameters", "Adam(net.head.parameters", needs=r"self\.head"), replaced(r"model = Net\(\)", "net = model = Net()")
        ),
    ),
    "all but the last layer is frozen": Mistake("frozen-parameters", replaced(NEW_MODEL, FREEZE)),
    "the future is seen": Mistake(
        "future-leakage",
        first_of(
            replaced(r"is_causal=True", "is_causal=False"),
            replaced(r"^ *s = s\.masked_fill.*\n", ""),
            replaced(r"transpose\(1, 2\), \(4, 0\)", "transpose(1, 2), (2, 2)"),
            replaced(r"F\.pad\(h, \(4, 0\)\)", "F.pad(h, (2, 2))"),
        ),
    ),
    "samples are read as time": Mistake(
        "batch-mixing",
        first_of(
            replaced(r"(nn\.(GRU|LSTM)\(32, 32.*)batch_first=True", r"\1batch_first=False"),
            replaced(r"h\.transpose\(0, 1\)\)\[0\]\.transpose\(0, 1\)", "h)[0]"),
        ),
    ),
    "nothing below zero": Mistake(
        "activation-on-output", replaced(r"return self\.c\(h\)(.*)$", r"return F.relu(self.c(h))\1", needs=r"Y = X\[:, 0\] \* X\[:, 1\]")
    ),
    "labels dealt out at random": Mistake(
        "misaligned-labels", replaced(r"^X, Xv, Y, Yv = X\[:1200\].*\n", r"\g<0>Y = Y[torch.randperm(len(Y))]\n", needs="load_digits")
    ),
    "a number that is none": Mistake("nonfinite-input", replaced(r"^X, Xv, Y, Yv = X\[:1200\].*\n", r"\g<0>X[417, 0] = float('nan')\n")),
    # -- procedure
    "the epoch's schedule is stepped with every batch": Mistake(
        "scheduler-misuse", lines_after(r"optimizer\.step\(\)", "scheduler.step()", needs="CosineAnnealingLR|StepLR")
    ),
    "scores where log-probabilities are due": Mistake(
        "logits-to-probability-loss",
        first_of(
            replaced(r"F\.nll_loss\(F\.log_softmax\(model\(x\), dim=1\), y\)", "F.nll_loss(model(x), y)"),
            replaced(r"F\.nll_loss\(model\(x\)\.log_softmax\(-1\)", "F.nll_loss(model(x)"),
            replaced(r"return torch\.sigmoid\(self\.c\(h\)\)$", "return self.c(h)", needs=r"binary_cross_entropy\("),
        ),
    ),
    "sigmoid twice": Mistake(
        "softmax-before-cross-entropy", replaced(r"return self\.c\(h\)$", "return torch.sigmoid(self.c(h))", needs="binary_cross_entropy_with_logits")
    ),
    "gradients are clipped when the step is over": Mistake(
        "clipping-misplaced", replaced(r"^( *)((?:torch\.)?nn\.utils\.clip_grad\S+ .*)\n *optimizer\.step\(\)\n", r"\1optimizer.step()\n\1\2\n")
    ),
    "gradients are clipped to next to nothing": Mistake(
        "clipping-too-tight", replaced(r"parameters\(\), 5\.0\)", "parameters(), 0.002)", needs=r"SGD")
    ),
    "gradients are cleared before the step": Mistake(
        "zero-grad-before-step", replaced(r"^( *)optimizer\.step\(\)\n", r"\1optimizer.zero_grad()\n\1optimizer.step()\n")
    ),
    "a new optimizer for every epoch": Mistake(
        "optimizer-rebuilt",
        both(
            replaced(r"^optimizer = (.*)\n", r"optimizer = \1\nNEW = lambda: \1\n", needs=rf"{NO_SCHEDULE}[\s\S]*Adam\w*\("),
            replaced(r"^for epoch in range\(EPOCHS\):\n", "for epoch in range(EPOCHS):\n    optimizer = NEW()\n"),
        ),
    ),
    "another model than the optimizer's": Mistake(
        "optimizer-missing-parameters", replaced(r"^(optimizer = .*)\n", r"\1\nmodel = Net()\n", needs=r"\nmodel = Net\(\)\noptimizer")
    ),
    "losses are summed with their graphs": Mistake("retained-graph", replaced(r"total \+= loss\.item\(\) \*", "total += loss *")),
    # -- architecture
    "all weights are one number": Mistake(
        "symmetric-init", replaced(NEW_MODEL, r"\1\2\n\1for p in model.parameters():\n\1    nn.init.constant_(p, 0.02)\n")
    ),
    "weights of thirty times their scale": Mistake(
        "init-too-large",
        replaced(NEW_MODEL, r"\1\2\n\1for p in model.parameters():\n\1    p.data.mul_(30 if p.dim() > 1 else 1)\n", needs=NO_RECURRENCE),
    ),
    "nothing bends": Mistake(
        "missing-nonlinearity",
        first_of(
            replaced(
                r"nn\.(ReLU|GELU|Tanh|LeakyReLU|SiLU)\([0-9.]*\)", "nn.Identity()", everywhere=True, needs=r"\A(?![\s\S]*LayerNorm)[\s\S]*self\.body"
            ),
            replaced(r"F\.(relu|gelu|silu|tanh|elu)\((self\.[ab]\(\w\))\)", r"\2", everywhere=True, needs=r"X\[:, 0\] \* X\[:, 1\]"),
        ),
    ),
    "a layer that is never used": Mistake(
        "unused-parameters", replaced(r"super\(\)\.__init__\(\)\n( +)(self\.a, )", r"super().__init__()\n\1self.extra = nn.Linear(48, 48)\n\1\2")
    ),
    "no unit ever fires": Mistake(
        "dead-relu", replaced(NEW_MODEL, r"\1\2\n\1nn.init.constant_(model.a.bias, -30.0)\n", needs=r"h = F\.relu\(self\.a")
    ),
    # -- data
    "columns of very different scales": Mistake(
        "unscaled-input", replaced(rf"^({SPLIT}.*)\n", r"X[:, 4:8] *= 4000.0\n\1\n", needs=r"\A(?![\s\S]*cosh)[\s\S]*torch\.randn\(1600, 12")
    ),
    "labels in order": Mistake(
        "unshuffled-data",
        both(
            lines_after(SPLIT, "s = torch.argsort(Y); X, Y = X[s], Y[s]", needs="load_digits"),
            first_of(replaced("shuffle=True", "shuffle=False"), replaced(r"torch\.randperm\(len\(X\)\)\.split", "torch.arange(len(X)).split")),
        ),
    ),
    "validation is a part of training": Mistake("train-val-leakage", lines_after(SPLIT, "Xv, Yv = X[:400], Y[:400]")),
    "a column tells the target": Mistake(
        "target-leakage", replaced(rf"^({SPLIT}.*)\n", r"X[:, 7] = Y + 0.01 * torch.randn(1600)\n\1\n", needs=r"torch\.randn\(1600, 12")
    ),
    "validation on another scale": Mistake(
        "train-val-mismatch", lines_after(SPLIT, "Xv = Xv * 4.0 + 2.0", needs="load_digits|torch\\.randn\\(1600, 12")
    ),
    "a quarter of the labels is wrong": Mistake(
        "label-noise",
        lines_after(SPLIT, "wrong = torch.rand(len(Y)) < 0.25; Y[wrong] = torch.randint(0, 10, (int(wrong.sum()),))", needs="load_digits"),
    ),
    "a target that is none": Mistake(
        "nonfinite-target", lines_after(SPLIT, "Y[417] = float('nan')", needs=r"Y = X\[:, 0\] \* X\[:, 1\]|t\.sin|series")
    ),
    "a class too many": Mistake("invalid-label", lines_after(SPLIT, "Y[417] = 10", needs="load_digits")),
    # -- hyperparameters
    "a rate two hundred times too high": Mistake("lr-too-high", replaced(r"lr=(\d\S*?)([,)])", r"lr=200 * \1\2")),
    "a rate three thousand times too low": Mistake("lr-too-low", replaced(r"lr=(\d\S*?)([,)])", r"lr=\1 / 3000\2")),
}
