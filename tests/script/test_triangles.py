"""triu where tril belongs: told by the diagonal and by the way the mask is used."""

from __future__ import annotations

import ast

import pytest

from sickbay.script.fixing import Source
from sickbay.script.triangles import wrong_triangle


def attention(made: str, used: str, inside: bool = False) -> tuple[Source, int]:
    first = "" if inside else f"        {made}\n"
    second = f"        {made}\n" if inside else ""
    text = f"class A:\n    def __init__(self):\n        self.qkv = nn.Linear(8, 24)\n{first}    def forward(self, x):\n{second}        {used}\n        return F.softmax(s, -1) @ v\n"
    return Source("train.py", text, ast.parse(text)), text.count("\n")


@pytest.mark.parametrize(
    ("made", "used", "inside", "wrong"),
    [
        ('self.register_buffer("mask", torch.triu(torch.ones(T, T)))', "s = s.masked_fill(self.mask[:t, :t] == 0, -1e9)", False, True),
        ("self.mask = torch.ones(T, T).triu()", "s = s.masked_fill(~self.mask.bool(), -1e9)", False, True),
        ("mask = torch.ones(t, t).triu() == 0", "s = s.masked_fill(mask, -1e9)", True, True),
        ("mask = torch.ones(t, t).triu().bool()", "s = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", True, True),
        ("mask = torch.tril(torch.ones(t, t), diagonal=-1).bool()", "s = s.masked_fill(mask, -1e9)", True, True),
        ("t = 3", "s = s.masked_fill(torch.triu(torch.ones(t, t)) == 0, -1e9)", True, True),
        # Right ones: the leak is somewhere else.
        ('self.register_buffer("mask", torch.tril(torch.ones(T, T)))', "s = s.masked_fill(self.mask[:t, :t] == 0, -1e9)", False, False),
        ("mask = torch.triu(torch.ones(t, t), 1).bool()", "s = s.masked_fill(mask, -1e9)", True, False),
        # The triangle is one that hides (without its own positions), or keeps; the way it is used is turned round.
        ("mask = torch.triu(torch.ones(t, t), diagonal=1).bool()", "s = s.masked_fill(~mask, -1e9)", True, False),
        ("mask = torch.tril(torch.ones(t, t)).bool()", "s = s.masked_fill(mask, -1e9)", True, False),
        # Made and not used here; used in a way that is not known.
        ("self.mask = torch.triu(torch.ones(T, T))", "s = q @ k.mT", False, False),
        ("self.mask = torch.triu(torch.ones(T, T))", "s = add_mask(s, self.mask)", False, False),
    ],
)
def test_the_triangle(made: str, used: str, inside: bool, wrong: bool) -> None:
    assert (wrong_triangle(*attention(made, used, inside)) is not None) is wrong


def test_two_triangles_tell_nothing() -> None:
    source, line = attention("mask = torch.ones(t, t).triu() == 0", "s = s.masked_fill(mask, -1e9).tril()", inside=True)
    assert wrong_triangle(source, line) is None
