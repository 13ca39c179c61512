"""Planned file changes: planned, shown as a diff, then applied."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from coderag.errors import ConfigurationError
from coderag.interfaces.install import files, records
from coderag.interfaces.install.targets import InstallTarget

_DIFF_CONTEXT_LINES: Final = 2
_MAX_LINE_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class PlannedFileChange:
    """A planned change of a file.

    Attributes:
        target: What is installed or removed.
        file: The current file.
        new_content: New content; None deletes the file.
        installs: Whether it is an installation; otherwise a removal.
        is_exact: Whether a removal restores the original bytes.
        record: Record of an earlier change, if any.
    """

    target: InstallTarget
    file: files.ConfigFile
    new_content: bytes | None
    installs: bool
    is_exact: bool = False
    record: records.InstallRecord | None = None


def plan_install(target: InstallTarget) -> PlannedFileChange | None:
    """Plan the installation of a target; None if it is already installed.

    Raises:
        ConfigurationError: The file is invalid (the message has name and line) or not writable.
    """
    file = files.read_config_file(target.path, target.within)
    new_content = _edit(target, file, installs=True)
    if new_content == file.content:
        return None
    files.check_writable(file)
    return PlannedFileChange(target, file, new_content, installs=True, record=records.read_record(file.real_path))


def plan_uninstall(target: InstallTarget) -> PlannedFileChange | None:
    """Plan the removal of a target; None if it is not installed. Raises as `plan_install`."""
    file = files.read_config_file(target.path, target.within)
    record = records.read_record(file.real_path)
    if file.content is None:
        return None
    if record is not None and record.is_unchanged(file.content):
        files.check_writable(file)
        return PlannedFileChange(target, file, record.original, installs=False, is_exact=True, record=record)
    new_content = _edit(target, file, installs=False)
    if new_content == file.content:
        return None
    files.check_writable(file)
    return PlannedFileChange(target, file, new_content, installs=False, record=record)


def apply_change(change: PlannedFileChange) -> None:
    """Write the file, and write or drop its record.

    Raises:
        ConfigurationError: The file changed since it was read, or is not writable.
    """
    if change.installs:
        records.write_record(_make_record(change))
        files.replace_file(change.file, change.new_content)
        return
    files.replace_file(change.file, change.new_content)
    records.drop_record(change.file.real_path)
    if change.new_content is None and change.record is not None:
        files.remove_folders(change.record.folders)


def format_diff(change: PlannedFileChange) -> Iterator[str]:
    """Yield the lines of a unified diff. Long lines are shortened: some configurations are a single line."""
    old_lines = _decode_lines(change.file.content)
    new_lines = _decode_lines(change.new_content)
    path = str(change.file.path)
    old = path if change.file.content is not None else "(no file)"
    new = path if change.new_content is not None else "(no file)"
    for line in difflib.unified_diff(old_lines, new_lines, old, new, n=_DIFF_CONTEXT_LINES, lineterm=""):
        yield line if len(line) <= _MAX_LINE_CHARS else _shorten_line(line)


def _shorten_line(line: str) -> str:
    """Return the part of a long line around our entry, or its beginning."""
    position = line.find('"coderag"')
    if position < _MAX_LINE_CHARS // 2:
        return f"{line[:_MAX_LINE_CHARS]} ..."
    return f"{line[0]}... {line[position - 20 : position + _MAX_LINE_CHARS]} ..."


def _decode_lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _edit(target: InstallTarget, file: files.ConfigFile, *, installs: bool) -> bytes | None:
    text = files.decode_text(file)
    try:
        edited = target.insert(text) if installs else target.remove(text)
        return None if edited is None else edited.encode()
    except ConfigurationError as error:
        raise ConfigurationError(f"{file.path}: {error}", hint=error.hint or "Nothing was written to it.") from error
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{file.path}: the path of the command cannot be encoded as UTF-8") from error


def _make_record(change: PlannedFileChange) -> records.InstallRecord:
    """Return the record that allows restoring the file restored byte for byte installation."""
    assert change.new_content is not None
    new_digest, previous = records.compute_digest(change.new_content), change.record
    if previous is not None and previous.is_unchanged(change.file.content):
        return records.InstallRecord(change.file.real_path, previous.original, new_digest, previous.folders)
    original = change.file.content
    if previous is not None and original is not None:  # edited by others since, with our entry in it
        original = _edit(change.target, change.file, installs=False)
    return records.InstallRecord(change.file.real_path, original, new_digest, files.find_missing_folders(change.file))
