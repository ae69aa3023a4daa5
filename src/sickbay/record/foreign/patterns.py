"""What numbers, times, axes and bars look like in printed text."""

from __future__ import annotations

import re

NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)\b"
WORD = r"[A-Za-z][\w./@\-]{0,60}(?:\([A-Za-z]{1,20}\))?"
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")
BACKWARDS = re.compile(r"\x08+(\s{0,9}\d{1,12}/\d{1,12})")
"""A counter that is written over the middle of its bar."""
STAMP = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?(?:[ T_]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?Z?)?|\[?\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b\]?|\b\d{1,4}:\d\d(?=<)|<\d{1,4}:\d\d"
    r"|\b\d\d:\d\d\b(?!\s*\d)|\b\d\d?[./]\d\d?[./]\d\d(?:\d\d)?\b|\b\d\d?/\d\d? (?=\d\d:\d\d)|\b\w{1,60}\.(?:py|cc|cpp|cu|h):\d+|\b[A-Z]\d{4}\b"
)
"""Dates, times, source lines (`train.py:31`) and glog's marks: none of their numbers is a measurement."""
EPOCH = re.compile(
    r"\b(?:epochs?|ep)\b(?:(?<!s)[\"'])?\.?[\s:#=\[(]{0,9}[\"']?(\d{1,12}(?:\.\d{1,12})?)\s{0,9}(?:/|of)?\s{0,9}\d{0,12}[\])]?(?:\s{0,9}\[\s{0,9}(\d{1,12})\s{0,9}/\s{0,9}(\d{1,12})[^\]]{0,30}\])?",
    re.IGNORECASE,
)
STEP = re.compile(
    r"\b(?:(?:global|total)[_ ]?step|steps?|iters?|iterations?|it|itr|updates?|batch|episodes?)\b(?:(?<![sh])[\"'])?[\s:#=\[(]{0,9}[\"']?(\d[\d,]{0,15})(?![\d.]{0,15}\s?m?s\b)\s{0,9}(?:/\s{0,9}(\d{1,12}))?",
    re.IGNORECASE,
)
COUNTED = re.compile(
    r"\[\s{0,9}(\d{1,12})\s{0,9}/\s{0,9}(\d{1,12})(?:\s{0,9}\(\s{0,9}\d{1,3}(?:\.\d{1,6})?%\))?\s{0,9}\]|(?:^|[\s|])(\d{1,12})/(\d{1,12})\s{0,9}\["
)
TWICE = re.compile(r"\[\s{0,9}(\d{1,9})\s{0,9}/\s{0,9}\d{1,9}\s{0,9}\]\s{0,3}\[\s{0,9}(\d{1,12})\s{0,9}/\s{0,9}\d{1,12}\s{0,9}\]")
"""`Train: [3/300][10/1251]`: epoch and step."""
PAIRED = re.compile(r"^\s{0,9}\[\s{0,9}(\d{1,9})\s{0,9},\s{0,9}(\d{1,12})\s{0,9}\]")
"""`[2,  4000] loss: 1.8`: epoch and step."""
LEADING = re.compile(r"^\s{0,9}(\d{1,12}):\s{1,9}(?=[A-Za-z])")
"""`12:  learn: 0.31  test: 0.33`: a step before its numbers."""
BAR = re.compile(r"(?:^|[\s|])(\d{1,12})/(\d{1,12})\s{0,9}(?:\[|━)")
PERCENT = re.compile(r"(\d{1,3})%\|")
COUNTER = re.compile(r"^[\s#]{0,9}(\d{1,12})/(\d{1,12}) - ")
"""`1875/1875 - 5s - loss: 0.3 - accuracy: 0.9`: a bar of Keras' that is not drawn."""
CLOSED = re.compile(r"^\s{0,9}\[[=>. ]{3,200}\].{1,400}\s(\d{1,12})/(\d{1,12})\s{0,9}$")
"""` [====>....]  Step: 53ms | Loss: 1.234 | Acc: 45.2%  12/391`: a bar that counts at its end, and does not say whose numbers they are."""
PAIR = re.compile(
    rf"(?<![\w./@\-])({WORD}(?:\s{{1,9}}[A-Za-z(][\w./@\-)]{{0,60}}){{0,2}})[\"'\])]{{0,3}}\s{{0,9}}(?:[:=]\s{{0,9}}|\s{{1,9}}|\()(?:tensor\(|\[\s{{0,9}})?[\"']?({NUMBER})(?!\.?\d|[\w:]{{0,20}}[A-Za-z]{{4,}})",
    re.IGNORECASE,
)
"""Up to three words and the number after them."""
TIME = re.compile(r"\s{0,2}(?:seconds?|secs?|minutes?|mins?|hours?|hrs?)\b", re.IGNORECASE)
"""What stands after a number that says how long something took."""
HINT = re.compile(r"loss|acc|lr\b|err|mse|nll|ppl|perplex|cost|epoch|step|iter|entropy|reward|return|learn|episode", re.IGNORECASE)
ENDED = re.compile(r"\btrain_runtime\b|\bTrainOutput\(")
"""What the HF Trainer prints when it is done: its loss is the mean over the whole run."""
RATE = re.compile(r"\b(?:lr|learning[_ ]rate|grad[_ ]norm)\b", re.IGNORECASE)
"""A line that tells it is about training, whatever was announced above it."""
MARKDOWN = str.maketrans("`*", "  ")
"""Logs are pasted into reports: **Step 750:** Train Loss `2.54`."""
SUMMARY = re.compile(r"\b(?:best|saved?|saving|improved?|checkpoint|patience|restor\w+|completed?|finished|early[ -]stop\w*)\b", re.IGNORECASE)
"""Lines that repeat a number of the curve, or tell of the whole run."""
REMARKED = re.compile(
    rf"^\W{{0,20}}(?:train\w{{0,6}}|val\w{{0,7}}|eval\w{{0,6}}|dev)[\s_]{{1,3}}loss\s{{0,9}}[:=]\s{{0,9}}(?:{NUMBER})", re.IGNORECASE
)
"""`Validation loss: 1.3 *** new best ***`: no repetition, but a remark on what is told here."""
MARK = re.compile(
    r"\[\s{0,3}(?:train\w{0,6}|val\w{0,7}|eval\w{0,6}|test\w{0,4}|dev)\s{0,3}\]"
    r"|\b(?:train\w{0,6}|val\w{0,7}|eval\w{0,6}|test\w{0,4}|dev)[\"']?\s{0,3}(?::(?=\s{0,3}[\[;A-Za-z{'\"])|(?=\{))",
    re.IGNORECASE,
)
"""`[train] loss=1.2, [valid] loss=1.3`, `Train: loss 1.2 | Val: loss 1.3`, `val {'loss': 1.3}` and `Test: [0/98] Loss 1.3`: what comes after it is of
that phase."""
EACH = re.compile(
    rf"\b(loss|acc\w{{0,5}}|error)\s{{0,3}}[:\-]?\s{{1,3}}train\w{{0,3}}\s{{0,3}}[:=]?\s{{0,3}}({NUMBER})[\s,;|/]{{1,5}}(?:val\w{{0,7}}|test|dev|eval)\s{{0,3}}[:=]?\s{{0,3}}({NUMBER})",
    re.IGNORECASE,
)
"""`LOSS train 1.2 valid 1.3`, as PyTorch's own tutorial prints it."""
WITHIN = re.compile(
    rf"(?<=loss|.acc|racy|rror)(\s{{1,3}}(?:(?:at|after|for|of|in)\s{{1,3}})?\(?(?:(epochs?)|steps?|iter(?:ation)?)\s{{1,3}}#?(\d{{1,12}})(?:\s?/\s?\d{{1,12}})?\)?)(?=\s{{0,3}}[:=]\s{{0,3}}(?:{NUMBER}))",
    re.IGNORECASE,
)
"""`Training loss after epoch 3: 0.51`: the axis stands within the name."""
SCORED = re.compile(r"^\s{0,3}\*\s{0,3}(?:acc|prec)@\d", re.IGNORECASE)
"""` * Acc@1 71.2 Acc@5 90.1 loss 1.2`: what the scripts for ImageNet print when validation is done."""
BOTH = re.compile(
    rf"(?:\btrain\w{{0,3}}\s?[/&]\s?(?:val\w{{0,7}}|test|dev|eval)\s{{1,3}}(loss|acc\w{{0,5}})|\b(loss|acc\w{{0,5}})\s?\(\s?train\w{{0,3}}\s?[/&]\s?(?:val\w{{0,7}}|test|dev|eval)\s?\))"
    rf"\s{{0,3}}[:=]?\s{{0,3}}({NUMBER})\s{{0,3}}[/|,]\s{{0,3}}({NUMBER})",
    re.IGNORECASE,
)
"""`train/val loss: 1.2/1.3` and `loss (train/val) 1.2 / 1.3`."""
TRANSLATION = re.compile(r"^\s{0,3}\(epoch: (\d{1,9}), iters: (\d{1,12}), [^)]{1,60}\)")
"""`(epoch: 1, iters: 100, time: 0.1, data: 0.2) D_A: 0.3 G_A: 0.5`: the image translation programs name losses by their networks alone."""
POSSESSIVE = re.compile(r"(?<=\w)'s(?=\s)")
"""`valid_1's binary_logloss: 0.3`."""
SPOKEN = re.compile(rf"\b(?:so far )?(?:is|was|are)(?=\s{{1,3}}(?:{NUMBER}))|\bso far(?=\s{{1,3}}(?:{NUMBER}))", re.IGNORECASE)
"""`avg loss so far is 0.3`."""
NUMBERED = re.compile(rf"^\s{{0,9}}(\d{{1,12}})\s{{1,9}}(train|val|valid|eval|test)\s{{1,9}}({NUMBER})\s{{0,9}}$", re.IGNORECASE)
"""`250 val 3.2794`: a step, whose loss, the loss."""
AVERAGED = re.compile(rf"^\s{{0,9}}(\d{{1,12}}):\s{{0,9}}[^,]{{1,40}},\s{{0,9}}({NUMBER})\s{{1,9}}avg\b", re.IGNORECASE)
"""Darknet: `1000: 1.23, 1.40 avg loss, 0.001000 rate`."""
RESULTS = re.compile(
    rf"^\s{{0,20}}(\d{{1,6}})/\d{{1,6}}\s{{1,20}}[\d.]{{1,9}}G\s{{1,20}}({NUMBER})\s{{1,20}}({NUMBER})\s{{1,20}}({NUMBER})\s{{1,20}}(?:{NUMBER})\s{{1,20}}\d{{1,9}}\s{{1,20}}\d{{1,9}}"
    rf"(?:\s{{1,20}}(?:{NUMBER})){{4}}\s{{1,20}}({NUMBER})\s{{1,20}}({NUMBER})\s{{1,20}}({NUMBER})\s{{0,20}}$",
    re.IGNORECASE,
)
RESULTS_NAMES = ("epoch", "train/box_loss", "train/obj_loss", "train/cls_loss", "val/box_loss", "val/obj_loss", "val/cls_loss")
"""`results.txt` of YOLOv5 and v7, which has no names: epoch, memory, three losses, their sum, counts, four metrics, three validation losses."""
DETECTION = re.compile(
    rf"^\s{{0,20}}(\d{{1,6}})/\d{{1,6}}\s{{1,20}}[\d.]{{1,9}}[GM]\s{{1,20}}((?:{NUMBER})(?:\s{{1,20}}(?:{NUMBER})){{2,6}})\s{{1,20}}\d{{1,9}}\s{{1,20}}\d{{1,9}}\s{{0,9}}(?::|$)",
    re.IGNORECASE,
)
"""A line of the YOLOs on the screen: epoch, memory, some losses, how many objects, the size of the pictures, a bar."""
EXTREME = frozenset("best min max lowest highest target final".split())
