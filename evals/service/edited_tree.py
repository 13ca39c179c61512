"""Randomly edited repository that records the content of each file over time."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_PROBE: Final = '\n\ndef {name}(amount):\n    """Say that {name} is here."""\n    return amount + {number}\n'
_SUFFIX: Final = ".py"
_MAX_PROBES: Final = 40  # in all files; older ones are removed so that the tree does not grow

EditKind = Literal["append", "shift", "remove", "delete", "restore", "rename"]


@dataclass(frozen=True, slots=True)
class Version:
    """Content of a file for some time.

    Attributes:
        lines: Lines without line ends; None if the file was missing.
        began, ended: Times before and after the write, in seconds of `time.monotonic`.
    """

    lines: Sequence[str] | None
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Edit:
    """Edit of a file; `probe` is the unique name that it added, empty if it added none."""

    kind: EditKind
    path: str
    probe: str = ""


class EditedTree:
    """Python files of a folder with random edits. Thread-safe.

    Args:
        root: The folder.
        seed: Seed of the edits.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._edits = 0
        self._probes: list[tuple[str, str]] = []
        paths = (path for path in sorted(root.rglob(f"*{_SUFFIX}")) if ".coderag" not in path.parts)
        self._versions = {
            path.relative_to(root).as_posix(): [Version(_read_lines(path), 0.0, 0.0)]
            for path in paths
            if path.is_file()
        }
        self._originals = {path: versions[0].lines or () for path, versions in self._versions.items()}

    def edit(self) -> Edit:
        """Edit a random file and return the edit."""
        with self._lock:
            self._edits += 1
            if len(self._probes) > _MAX_PROBES:
                return self._remove()
            kind = self._random.choices(
                ("append", "shift", "remove", "delete", "restore", "rename"), (40, 20, 20, 4, 12, 4)
            )[0]
            match kind:
                case "append" | "shift":
                    return self._add(kind)
                case "remove" if self._probes:
                    return self._remove()
                case "delete":
                    return self._delete()
                case "rename":
                    return self._rename()
                case _:
                    return self._restore()

    def is_fresh(self, path: str, start_line: int, end_line: int, text: str, since: float) -> bool:
        """Return whether lines of a file had a text at some moment after `since`; if not, a citation of them is stale."""
        with self._lock:
            versions = list(self._versions.get(path, ()))
        if not versions and (self._root / path).is_file():  # never edited
            versions = [Version(_read_lines(self._root / path), 0.0, 0.0)]
        wanted = _split_lines(text)
        end_line = min(end_line, start_line - 1 + len(wanted))
        for number, version in enumerate(versions):
            replaced = versions[number + 1].ended if number + 1 < len(versions) else None
            if replaced is not None and replaced < since:
                continue
            if version.lines is not None and list(version.lines[start_line - 1 : end_line]) == wanted:
                return True
        return False

    def has_probe(self, probe: str, since: float) -> bool:
        """Return whether a probe was in some file ever since a moment, so that an answer must have it."""
        declared = f"def {probe}("
        with self._lock:
            return any(
                versions[-1].began <= since and any(line.startswith(declared) for line in versions[-1].lines or ())
                for versions in self._versions.values()
            )

    def _add(self, kind: EditKind) -> Edit:
        path, lines = self._choose_file()
        probe = f"probe{self._edits}_{self._random.randrange(16**6):06x}"
        above = ["# what follows moves down"] if kind == "shift" else []
        self._write(path, [*above, *lines, *_PROBE.format(name=probe, number=self._edits).split("\n")[:-1]])
        self._probes.append((path, probe))
        return Edit(kind, path, probe)

    def _remove(self) -> Edit:
        path, probe = self._probes.pop(0)
        lines = self._get_lines(path)
        if lines is None:
            return Edit("remove", path)
        at = next((row for row, line in enumerate(lines) if line.startswith(f"def {probe}(")), None)
        if at is not None:
            self._write(path, [*lines[:at], *lines[at + 3 :]])
        return Edit("remove", path)

    def _delete(self) -> Edit:
        path, _ = self._choose_file()
        self._write(path, None)
        return Edit("delete", path)

    def _restore(self) -> Edit:
        path = self._random.choice(sorted(self._originals))
        self._write(path, self._originals[path])
        return Edit("restore", path)

    def _rename(self) -> Edit:
        path, lines = self._choose_file()
        moved = f"{path.removesuffix(_SUFFIX)}_{self._edits}{_SUFFIX}"
        self._write(moved, lines)
        self._write(path, None)
        return Edit("rename", moved)

    def _choose_file(self) -> tuple[str, Sequence[str]]:
        while True:
            path = self._random.choice(sorted(self._versions))
            if (lines := self._get_lines(path)) is not None:
                return path, lines

    def _get_lines(self, path: str) -> Sequence[str] | None:
        return self._versions[path][-1].lines

    def _write(self, path: str, lines: Sequence[str] | None) -> None:
        """Replace a file atomically, as editors do that save through a temporary file."""
        began = time.monotonic()
        target = self._root / path
        if lines is None:
            target.unlink(missing_ok=True)
        else:
            temporary = target.with_name(f".{target.name}.saving")
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
            temporary.replace(target)
        self._versions.setdefault(path, []).append(Version(lines, began, time.monotonic()))


def _read_lines(path: Path) -> list[str]:
    return _split_lines(path.read_text(encoding="utf-8", errors="replace"))


def _split_lines(text: str) -> list[str]:
    """Split text into lines as the index does: at line feeds only."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines
