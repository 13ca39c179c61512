"""Notes on what of the configured sources is not in the mirror, and since when."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from coderag.schema.item_search import ItemScope
from coderag.schema.mirrored_items import SourceRun
from coderag.sources.mirror import ItemMirror
from coderag.sources.protocol import SourceKind


def describe_missing(
    mirror: ItemMirror,
    kinds: Mapping[str, SourceKind],
    scope: ItemScope | None = None,
    names: Collection[str] = (),
) -> list[str]:
    """Describe what was not synchronised, a sentence each; nothing if the mirror is complete.

    Args:
        mirror: The mirror.
        kinds: Kind of each configured source, by its name.
        scope: Kind of sources that are asked for; None is both.
        names: Names of sources that are asked for; empty is all.

    Raises:
        StoreError: The mirror cannot be read.
    """
    wanted = [name for name, kind in kinds.items() if scope in (None, kind) and (not names or name.casefold() in names)]
    if not wanted:
        noun = f"{scope} source" if scope else "source"
        return [f"No {noun} is configured, so no items of one are searched."]
    counts = mirror.count_items()
    notes: list[str] = []
    for name in wanted:
        notes += _describe_runs(name, mirror.list_runs(name, limit=20))
        if name in counts and (failures := counts[name].failures):
            notes.append(f"{failures:,} item{'s' * (failures != 1)} of {name} could not be read.")
    return notes


def _describe_runs(name: str, runs: Sequence[SourceRun]) -> Iterator[str]:
    """Describe the last run of a source unless it was complete.

    Args:
        name: Name of the source.
        runs: Its runs, newest first.
    """
    if not runs:
        yield f"{name} was never synchronised."
        return
    last = runs[0]
    if last.ended is None:
        yield f"The synchronisation of {name} that began {_format_time(last.started)} has not ended."
    elif last.outcome == "incomplete":
        yield f"{name} was synchronised {_format_time(last.ended)} with gaps: {'; '.join(last.notes) or last.message}."
    elif last.outcome != "complete":
        reason = f": {last.message}" if last.message else ""
        yield f"The last synchronisation of {name} {last.outcome} {_format_time(last.ended)}{reason}."
    if last.ended is None or last.outcome in ("failed", "cancelled"):
        complete = next((run for run in runs[1:] if run.outcome == "complete" and run.ended), None)
        yield (
            f"The items of {name} are as of {_format_time(complete.ended)}."
            if complete and complete.ended
            else f"{name} was never synchronised completely."
        )


def _format_time(time: datetime) -> str:
    return f"on {time.astimezone(UTC):%Y-%m-%d at %H:%M} UTC"
