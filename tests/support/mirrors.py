"""Mirrors of items, written as a synchronisation writes them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coderag import CodeRAG
from coderag.schema.items import PUBLIC, Item, ItemFailure, ItemLink
from coderag.schema.mirrored_items import RunOutcome, SourceRun
from coderag.sources.mirror import MIRROR_FOLDER, ItemMirror
from coderag.sources.protocol import Page
from tests.support.corpora import write_files

SOURCES: dict[str, dict[str, Any]] = {
    "wiki": {"system": "files", "path": "wiki"},
    "tracker": {
        "system": "jira",
        "address": "https://example.atlassian.net",
        "user": "a@b.example",
        "projects": ["SHOP"],
    },
}

CODE = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n"
    ),
    "README.md": "# Shop\n\nSells things.\n",
}

PAGES = (
    Item(
        id="101",
        kind="page",
        title="Deployment handbook",
        text=(
            "How we ship.\n\n## Rolling back a release\n\nUndo a broken deployment with the previous container image, "
            "then tell the people on call.\n\n## Certificates\n\nThe certificates of the gateway are renewed by a robot "
            "each month.\n"
        ),
        url="https://wiki.example/101",
        revision="7",
        modified=datetime(2026, 3, 1, tzinfo=UTC),
        access=PUBLIC,
    ),
    Item(
        id="102",
        kind="page",
        title="Holiday calendar",
        text="Offices are closed on public holidays.\n",
        url="https://wiki.example/102",
        revision="2",
        labels=("people",),
        modified=datetime(2026, 1, 1, tzinfo=UTC),
    ),
)

TICKETS = (
    Item(
        id="SHOP-45",
        kind="ticket",
        title="Totals are a cent too low",
        text="Customers complain that sums are cut off. `Cart.total` should use `round_up`, see shop/money.py:1.\n",
        url="https://example.atlassian.net/browse/SHOP-45",
        revision="2026-02-01T10:00",
        type="Bug",
        status="Done",
        labels=("billing", "urgent"),
        people={"assignee": ("Ada Lovelace",)},
        links=(ItemLink("blocks", "SHOP-46"),),
        modified=datetime(2026, 2, 1, tzinfo=UTC),
    ),
    Item(
        id="SHOP-46",
        kind="ticket",
        title="Pay by invoice",
        text="Business customers want to pay by invoice within thirty days.\n",
        url="https://example.atlassian.net/browse/SHOP-46",
        revision="3",
        type="Story",
        status="Open",
        labels=("billing",),
        modified=datetime(2026, 4, 1, tzinfo=UTC),
    ),
)


def open_mirror(root: Path) -> ItemMirror:
    """Open the mirror of a repository for writing."""
    mirror = ItemMirror(root / ".coderag" / MIRROR_FOLDER)
    mirror.prepare()
    return mirror


def mirror_items(  # one parameter a part of a run
    root: Path,
    source: str,
    items: Sequence[Item] = (),
    *,
    deleted: Sequence[str] = (),
    failures: Sequence[ItemFailure] = (),
    outcome: RunOutcome = "complete",
    message: str = "",
) -> None:
    """Mirror a page of a source, and record the run."""
    mirror = open_mirror(root)
    started = datetime(2026, 5, 1, 8, tzinfo=UTC)
    with mirror.record_run(SourceRun(source, started, None, "incomplete")) as runs:
        mirror.apply_page(source, Page(items, {"page": 1}, deleted, failures))
        runs.append(SourceRun(source, started, datetime(2026, 5, 1, 9, tzinfo=UTC), outcome, message))
    mirror.close()


def build_shop(root: Path, sources: dict[str, dict[str, Any]] | None = None, **arguments: Any) -> CodeRAG:
    """Index a small shop with two sources, whose items are mirrored."""
    write_files(root, CODE)
    rag = CodeRAG(root, sources=SOURCES if sources is None else sources, **arguments)
    rag.index()
    mirror_items(rag.root, "wiki", PAGES)
    mirror_items(rag.root, "tracker", TICKETS)
    return rag
