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


DIFFERS_BY_MODE = r"BatchNorm|Dropout"
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
}
