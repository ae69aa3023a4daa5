"""Markdown on a terminal without decoration: headings to the left, code indented, nothing boxed or centred."""

from __future__ import annotations

from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


class _Heading(markdown.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield Text()
        yield self.text


class _Code(markdown.CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = str(self.text).rstrip().splitlines()
        yield Text("\n".join(f"    {line}" for line in lines), no_wrap=True, overflow="ignore")


class PlainMarkdown(markdown.Markdown):
    elements: ClassVar = {**markdown.Markdown.elements, "heading_open": _Heading, "fence": _Code, "code_block": _Code}
