"""Draws a view as a small piece of HTML for a notebook: inline styles, no scripts, the notebook's own colours."""

from __future__ import annotations

from sickbay.report.html import environment
from sickbay.report.view import View

CAUSES = 3


def html_fragment(view: View) -> str:
    """For `_repr_html_`."""
    return environment().get_template("notebook.html.j2").render(view=view, shown=CAUSES)
