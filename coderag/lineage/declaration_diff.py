"""Declarations that differ between two versions of a file."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coderag.ingestion.parsing.outline import FileOutline, OutlinedDeclaration, read_outline
from coderag.lineage.line_diff import diff_lines
from coderag.schema.lineage import DeclarationChange, DeclarationChangeKind, Hunk
from coderag.text.encodings import decode


class _Side(NamedTuple):
    """One version of a file: its outline, and the declarations around changed lines."""

    outline: FileOutline
    touched: set[int]
    is_module_touched: bool


class _Version(NamedTuple):
    """A name of a declaration in one version."""

    entry: OutlinedDeclaration
    is_touched: bool


def diff_declarations(
    path: str,
    old: bytes | None,
    new: bytes | None,
    *,
    old_path: str | None = None,
    hunks: Sequence[Hunk] | None = None,
) -> list[DeclarationChange]:
    """Compare the declarations of two versions of a file.

    Each changed line belongs to the innermost declaration around it, which begins with its decorators and comments. A
    declaration whose name exists in one version only is added or removed, even if its own lines are equal: so are the
    methods of a renamed class.

    Args:
        path: Path of the file, after the change; selects the language.
        old: Bytes before the change; None if the file is added.
        new: Bytes after the change; None if it is deleted.
        old_path: Path before the change, if it differs.
        hunks: Changed lines, if they are known; by default both versions are compared.

    Returns:
        Changes in the order of the lines, removed declarations at their old lines. Empty if both are equal or binary.
    """
    old_outline = read_outline(old_path or path, old) if old is not None else FileOutline("", 0)
    new_outline = read_outline(path, new) if new is not None else FileOutline("", 0)
    if old_outline is None and new_outline is None:
        return []
    # A version that is binary has no lines.
    old_outline = old_outline or FileOutline("", 0)
    new_outline = new_outline or FileOutline("", 0)
    if hunks is None:
        hunks = diff_lines(_split_lines(old), _split_lines(new))
    return diff_outlines(path, old_outline, new_outline, hunks)


def diff_outlines(path: str, old: FileOutline, new: FileOutline, hunks: Sequence[Hunk]) -> list[DeclarationChange]:
    """Compare the outlines of two versions of a file; see `diff_declarations`. An absent version has no lines."""
    if not hunks:
        return []
    old_side = _Side(old, *old.find_innermost(_list_ranges((hunk.old_start, hunk.old_count) for hunk in hunks)))
    new_side = _Side(new, *new.find_innermost(_list_ranges((hunk.new_start, hunk.new_count) for hunk in hunks)))
    changes = _compare_modules(path, old_side, new_side)
    old_versions, new_versions = _group_by_name(old_side), _group_by_name(new_side)
    for name in {**new_versions, **old_versions}:
        for before, after in _pair_versions(old_versions.get(name, []), new_versions.get(name, [])):
            change = _classify(before, after)
            if change is not None:
                changes.append(_build_change(path, name, change, before, after))
    return sorted(changes, key=lambda change: (change.new_start_line or change.old_start_line, change.qualified_name))


def _split_lines(data: bytes | None) -> list[bytes]:
    """Split a version into lines; text in UTF-16 or UTF-32 as its UTF-8, whose line ends are those of the outline."""
    if not data:
        return []
    if b"\0" in data:
        decoded = decode(data)
        data = decoded.text.encode("utf-8", "surrogatepass") if decoded is not None else b""
    lines = data.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _list_ranges(counts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, start + count - 1) for start, count in counts if count]


def _compare_modules(path: str, old: _Side, new: _Side) -> list[DeclarationChange]:
    if not (old.is_module_touched or new.is_module_touched):
        return []
    change: DeclarationChangeKind = "body"
    if not old.outline.lines:
        change = "added"
    elif not new.outline.lines:
        change = "removed"
    old_lines, new_lines = old.outline.lines, new.outline.lines
    name = new.outline.module_name or old.outline.module_name
    return [DeclarationChange(path, name, "module", change, min(1, old_lines), old_lines, min(1, new_lines), new_lines)]


def _group_by_name(side: _Side) -> dict[str, list[_Version]]:
    versions: dict[str, list[_Version]] = defaultdict(list)
    for position, entry in enumerate(side.outline.entries):
        for name in entry.qualified_names:
            versions[name].append(_Version(entry, position in side.touched))
    return versions


def _pair_versions(old: Sequence[_Version], new: Sequence[_Version]) -> list[tuple[_Version | None, _Version | None]]:
    """Pair declarations of one name, such as overloads: those of equal kind and signature first, the rest in order."""
    rest_old, rest_new = list(old), []
    pairs: list[tuple[_Version | None, _Version | None]] = []
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    for version in new:
        equal = [
            candidate
            for candidate in rest_old
            if (candidate.entry.kind, candidate.entry.signature) == (version.entry.kind, version.entry.signature)
        ]
        if equal:
            match = next((candidate for candidate in equal if candidate.is_touched == version.is_touched), equal[0])
            rest_old.remove(match)
            pairs.append((match, version))
        else:
            rest_new.append(version)
    shared = min(len(rest_old), len(rest_new))
    pairs += zip(rest_old[:shared], rest_new[:shared], strict=True)
    pairs += [(version, None) for version in rest_old[shared:]]
    pairs += [(None, version) for version in rest_new[shared:]]
    return pairs


def _classify(before: _Version | None, after: _Version | None) -> DeclarationChangeKind | None:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if (before.entry.kind, before.entry.signature) != (after.entry.kind, after.entry.signature):
        return "signature"
    return "body" if before.is_touched or after.is_touched else None


def _build_change(
    path: str, name: str, change: DeclarationChangeKind, before: _Version | None, after: _Version | None
) -> DeclarationChange:
    old, new = before.entry if before else None, after.entry if after else None
    kind = new.kind if new is not None else old.kind if old is not None else ""
    return DeclarationChange(
        path,
        name,
        kind,
        change,
        old.start_line if old else 0,
        old.end_line if old else 0,
        new.start_line if new else 0,
        new.end_line if new else 0,
        old.signature if old else "",
        new.signature if new else "",
    )
