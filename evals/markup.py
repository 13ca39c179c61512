"""Text and tables as HTML. All text may come from a repository, so all of it is escaped."""

import html
import re
from collections.abc import Collection, Iterable, Sequence

from .tables import Table

_HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks that reverse the direction of text, and lone surrogates."""

_LONG = 30  # characters of a cell that is no number


def escaped(text: str) -> str:
    """Return text that a browser shows as it is, in an element or in a quoted attribute."""
    return html.escape(_HARMFUL.sub("�", text))


def element(name: str, content: str, **attributes: str | float) -> str:
    """Return an element around content that is markup already.

    Args:
        name: Of the element.
        content: Its markup.
        attributes: Written escaped; ``class_`` stands for ``class``, and ``_`` within a name for ``-``.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_short(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{given}>{content}</{name}>"


def table_markup(table: Table, *, caption: bool = True) -> str:
    """Return a table: the first column heads the rows, the others are numbers, but for long text."""
    rows = [[escaped(cell) for cell in row] for row in table.rows]
    wordy = {column for row in table.rows for column, cell in enumerate(row) if len(cell) > _LONG}
    return grid([escaped(cell) for cell in table.header], rows, caption=table.title if caption else "", wordy=wordy)


def grid(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    class_: str = "",
    wordy: Collection[int] = (),
) -> str:
    """Return a table that scrolls sideways where the page is too narrow for it.

    Args:
        header: Markup above the columns.
        rows: Markup of the cells.
        caption: Text above the table; empty for none.
        class_: Of the table.
        wordy: Columns with text that may be broken into lines.
    """
    kinds = ["words" if column in wordy else "" for column in range(len(header))]
    head = "".join(_cell("th", cell, kind, scope="col") for cell, kind in zip(header, kinds, strict=True))
    body = "".join(
        element("tr", _cell("th", row[0], kinds[0], scope="row") + "".join(map(_data_cell, row[1:], kinds[1:])))
        for row in rows
    )
    above = element("caption", escaped(caption)) if caption else ""
    inner = above + element("thead", element("tr", head)) + element("tbody", body)
    table = element("table", inner, **({"class_": class_} if class_ else {}))
    return element("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption or "table")


def _data_cell(content: str, kind: str) -> str:
    return _cell("td", content, kind)


def _cell(name: str, content: str, kind: str, **attributes: str) -> str:
    return element(name, content, **attributes, **({"class_": kind} if kind else {}))


def _short(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
