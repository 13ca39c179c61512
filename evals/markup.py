"""HTML elements and tables. All text may come from a repository, so all of it is escaped."""

import html
import re
from collections.abc import Collection, Iterable, Sequence

from .tables import Table

_UNSAFE_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and newline, bidirectional marks, and lone surrogates."""

_MAX_NUMBER_CHARS = 30  # longer cells are text


def escape_text(text: str) -> str:
    """Escape text for an element or a quoted attribute."""
    return html.escape(_UNSAFE_CHARACTERS.sub("�", text))


def render_element(name: str, content: str, **attributes: str | float) -> str:
    """Render an element around markup.

    Args:
        name: Tag name.
        content: Markup inside the element.
        attributes: Values are escaped; ``class_`` stands for ``class``, and ``_`` within a name for ``-``.
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_text(_format_value(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{attribute_text}>{content}</{name}>"


def render_table(table: Table, *, caption: bool = True) -> str:
    """Render a table: the first column heads the rows, the others are numbers unless a cell is long."""
    rows = [[escape_text(cell) for cell in row] for row in table.rows]
    wordy = {column for row in table.rows for column, cell in enumerate(row) if len(cell) > _MAX_NUMBER_CHARS}
    return render_grid(
        [escape_text(cell) for cell in table.header], rows, caption=table.title if caption else "", wordy=wordy
    )


def render_grid(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    class_: str = "",
    wordy: Collection[int] = (),
) -> str:
    """Render a table that scrolls sideways on narrow pages.

    Args:
        header: Markup of the column headers.
        rows: Markup of the cells.
        caption: Text above the table; empty for none.
        class_: CSS class of the table.
        wordy: Columns with text that may wrap.
    """
    kinds = ["words" if column in wordy else "" for column in range(len(header))]
    head = "".join(_render_cell("th", cell, kind, scope="col") for cell, kind in zip(header, kinds, strict=True))
    body = "".join(
        render_element(
            "tr",
            _render_cell("th", row[0], kinds[0], scope="row") + "".join(map(_render_data_cell, row[1:], kinds[1:])),
        )
        for row in rows
    )
    above = render_element("caption", escape_text(caption)) if caption else ""
    inner = above + render_element("thead", render_element("tr", head)) + render_element("tbody", body)
    table = render_element("table", inner, **({"class_": class_} if class_ else {}))
    return render_element("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption or "table")


def _render_data_cell(content: str, kind: str) -> str:
    return _render_cell("td", content, kind)


def _render_cell(name: str, content: str, kind: str, **attributes: str) -> str:
    return render_element(name, content, **attributes, **({"class_": kind} if kind else {}))


def _format_value(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
