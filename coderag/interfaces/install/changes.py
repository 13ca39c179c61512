"""Plan what is done to a file, show it, and do it: nothing is written that was not shown."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from coderag.errors import ConfigurationError
from coderag.interfaces.install import files, records
from coderag.interfaces.install.targets import Target

_CONTEXT: Final = 2
_LONGEST_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class Change:
    """One file as it is and as it would be.

    Attributes:
        target: What is put there or taken away.
        place: The file as it is.
        after: What would be in it; None if it would be gone.
        installs: Whether something is put there.
        is_exact: Of taking away: whether the file gets the very bytes that it had before.
        record: What is known of an earlier change; None if nothing is.
    """

    target: Target
    place: files.Place
    after: bytes | None
    installs: bool
    is_exact: bool = False
    record: records.Record | None = None


def plan_install(target: Target) -> Change | None:
    """Return what putting something into its file would do; None if it is there.

    Raises:
        ConfigurationError: The file is not valid, with its name and the line, or may not be written.
    """
    place = files.look(target.path, target.within)
    after = _edited(target, place, installs=True)
    if after == place.content:
        return None
    files.check_writable(place)
    return Change(target, place, after, installs=True, record=records.read_record(place.target))


def plan_uninstall(target: Target) -> Change | None:
    """Return what taking something out of its file would do; None if it is not there. Raises as `plan_install`."""
    place = files.look(target.path, target.within)
    record = records.read_record(place.target)
    if place.content is None:
        return None
    if record is not None and record.is_as_left(place.content):
        files.check_writable(place)
        return Change(target, place, record.before, installs=False, is_exact=True, record=record)
    after = _edited(target, place, installs=False)
    if after == place.content:
        return None
    files.check_writable(place)
    return Change(target, place, after, installs=False, record=record)


def apply(change: Change) -> None:
    """Write the file, and keep or drop what is known of it.

    Raises:
        ConfigurationError: It was changed since it was looked at, or cannot be written.
    """
    if change.installs:
        records.write_record(_record_of(change))
        files.replace(change.place, change.after)
        return
    files.replace(change.place, change.after)
    records.drop_record(change.place.target)
    if change.after is None and change.record is not None:
        files.remove_folders(change.record.folders)


def difference(change: Change) -> Iterator[str]:
    """Yield the lines of a unified diff; long lines are cut, as some configurations are one line."""
    before = _lines(change.place.content)
    after = _lines(change.after)
    path = str(change.place.path)
    old = path if change.place.content is not None else "(no file)"
    new = path if change.after is not None else "(no file)"
    for line in difflib.unified_diff(before, after, old, new, n=_CONTEXT, lineterm=""):
        yield line if len(line) <= _LONGEST_LINE else _around_change(line)


def _around_change(line: str) -> str:
    """Return the part of a long line that shows us, or its beginning."""
    at = line.find('"coderag"')
    if at < _LONGEST_LINE // 2:
        return f"{line[:_LONGEST_LINE]} ..."
    return f"{line[0]}... {line[at - 20 : at + _LONGEST_LINE]} ..."


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _edited(target: Target, place: files.Place, *, installs: bool) -> bytes | None:
    text = files.text_of(place)
    try:
        edited = target.added(text) if installs else target.removed(text)
        return None if edited is None else edited.encode()
    except ConfigurationError as error:
        raise ConfigurationError(f"{place.path}: {error}", hint=error.hint or "Nothing was written to it.") from error
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{place.path}: the path of the command is no text that it can hold") from error


def _record_of(change: Change) -> records.Record:
    """Return what to keep, so that the file can be as it was before anything of ours was in it."""
    assert change.after is not None
    after, known = records.digest(change.after), change.record
    if known is not None and known.is_as_left(change.place.content):
        return records.Record(change.place.target, known.before, after, known.folders)
    before = change.place.content
    if known is not None and before is not None:  # changed by others since, with ours in it
        before = _edited(change.target, change.place, installs=False)
    return records.Record(change.place.target, before, after, files.missing_folders(change.place))
