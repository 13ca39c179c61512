"""Output of ``coderag index --watch``: one line or JSON document for each update."""

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.interfaces.cli.output.streams import Output

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.indexing import IndexReport

_CHANGES = ("added", "changed", "removed", "renamed")


def follow_edits(rag: "CodeRAG", output: Output) -> None:
    """Index and follow edits until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        with show_index_progress() as progress:
            reports = rag.watch(progress=progress)
            first = next(reports)
        _print_changes(first, output, is_first=True)
        output.note(f"watching {rag.root} (press Ctrl-C to stop)")
        for report in reports:
            _print_changes(report, output)


def _print_changes(report: "IndexReport", output: Output, *, is_first: bool = False) -> None:
    changed = any(getattr(report, name) for name in _CHANGES)
    if not (changed or is_first):
        return
    if output.as_json:
        output.write_json_line(report)
        return
    from coderag.interfaces.cli.output.report import format_counts

    changes = format_counts(
        {name: getattr(report, name) for name in (*_CHANGES, *(("unchanged",) if is_first else ()))}
    )
    failed = f", {len(report.failed):,} failed ('coderag status' says which)" if report.failed else ""
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    output.write(f"{now}  {changes}{failed}  generation {report.generation}, {report.elapsed_s:.2f} s\n")
