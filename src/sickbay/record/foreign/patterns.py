"""What numbers, times, axes and bars look like in printed text."""

from __future__ import annotations

import re

NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)\b"
WORD = r"[A-Za-z][\w./@\-]{0,60}"
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")
STAMP = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?(?:[ T_]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?Z?)?|\[?\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b\]?|\b\d{1,4}:\d\d(?=<)|<\d{1,4}:\d\d"
    r"|\b\d\d:\d\d\b(?!\s*\d)|\b\d\d?[./]\d\d?[./]\d\d(?:\d\d)?\b|\b\d\d?/\d\d? (?=\d\d:\d\d)|\b\w{1,60}\.py:\d+|\b[A-Z]\d{4}\b"
)
"""Dates, times, source lines (`train.py:31`) and glog's marks: none of their numbers is a measurement."""
EPOCH = re.compile(
    r"\b(?:epochs?|ep)\b\.?[\s:#=\[(]{0,9}(\d{1,12}(?:\.\d{1,12})?)\s{0,9}(?:/|of)?\s{0,9}\d{0,12}[\])]?(?:\s{0,9}\[\s{0,9}(\d{1,12})\s{0,9}/\s{0,9}(\d{1,12})[^\]]{0,30}\])?",
    re.IGNORECASE,
)
STEP = re.compile(
    r"\b(?:global[_ ]?step|steps?|iters?|iterations?|it|itr|updates?|batch)\b[\s:#=\[(]{0,9}(\d[\d,]{0,15})\s{0,9}(?:/\s{0,9}(\d{1,12}))?",
    re.IGNORECASE,
)
COUNTED = re.compile(
    r"\[\s{0,9}(\d{1,12})\s{0,9}/\s{0,9}(\d{1,12})(?:\s{0,9}\(\s{0,9}\d{1,3}(?:\.\d{1,6})?%\))?\s{0,9}\]|(?:^|[\s|])(\d{1,12})/(\d{1,12})\s{0,9}\["
)
PAIRED = re.compile(r"^\s{0,9}\[\s{0,9}(\d{1,9})\s{0,9},\s{0,9}(\d{1,12})\s{0,9}\]")
"""`[2,  4000] loss: 1.8`: epoch and step."""
BAR = re.compile(r"(?:^|[\s|])(\d{1,12})/(\d{1,12})\s{0,9}(?:\[|━)|(\d{1,3})%\|")
PAIR = re.compile(
    rf"(?<![\w./@\-])({WORD}(?:\s{{1,9}}[A-Za-z(][\w./@\-)]{{0,60}}){{0,2}})[\"'\])]{{0,3}}\s{{0,9}}(?:[:=]\s{{0,9}}|\s{{1,9}}|\()(?:tensor\(|\[)?[\"']?({NUMBER})(?![\w:]{{0,20}}[A-Za-z]{{4,}})",
    re.IGNORECASE,
)
"""Up to three words and the number after them."""
HINT = re.compile(r"loss|acc|lr\b|err|mse|nll|ppl|perplex|cost|epoch|step|iter", re.IGNORECASE)
SUMMARY = re.compile(r"\b(?:best|saved?|saving|improved?|checkpoint|patience|restor\w+|completed?|finished|early[ -]stop\w*)\b", re.IGNORECASE)
"""Lines that repeat a number of the curve, or tell of the whole run."""
EXTREME = frozenset("best min max lowest highest target final".split())
