"""Tools of the arm ``grep``: search by regular expression, ranges of lines, lists of files, all inside one repository."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

import regex  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evals.golden import format_faults

from .toolsets import MAX_REPLY_CHARS, CallReply, ToolSpec

_HIDDEN_FOLDERS: Final = frozenset({".git", ".coderag"})
_MAX_FILE_BYTES: Final = 5_000_000
_MAX_LINE_CHARS: Final = 500
_TIMEOUT_S: Final = 20.0

_Arguments = TypeVar("_Arguments", bound="_ToolArguments")


class _ToolArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GrepArguments(_ToolArguments):
    """Arguments of ``grep``."""

    pattern: str = Field(min_length=1, description="Regular expression, matched within each line.")
    path: str = Field(".", description="File or folder to search.")
    glob: str = Field("", description="Only files that match, such as *.py, src/**/*.{ts,tsx} or !*_test.go.")
    ignore_case: bool = False
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")
    files_only: bool = Field(False, description="List matching files with their number of matching lines.")
    max_matches: int = Field(100, ge=1, le=1000, description="Maximum number of matching lines, or of files.")


class ReadArguments(_ToolArguments):
    """Arguments of ``read``."""

    path: str
    start_line: int = Field(1, ge=1)
    end_line: int | None = Field(None, ge=1, description="Last line; default: 2000 lines from start_line.")


class ListArguments(_ToolArguments):
    """Arguments of ``list``."""

    path: str = Field(".", description="Folder to list.")
    glob: str = Field("", description="Only files that match, such as *.py or src/**/*.{ts,tsx}.")
    depth: int = Field(1, ge=1, le=20, description="Levels of folders; files below are counted, not listed.")


class _ToolError(Exception):
    """Wrong use of a tool; the message is for the agent."""


class FileTools:
    """Toolset that searches and reads the files of a repository. Nothing outside its folder can be seen.

    Args:
        root: Folder of the repository.
    """

    instructions = ""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._tools: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "grep": lambda given: self._search(_validate(GrepArguments, given)),
            "read": lambda given: self._read(_validate(ReadArguments, given)),
            "list": lambda given: self._list(_validate(ListArguments, given)),
        }

    @property
    def definitions(self) -> Sequence[ToolSpec]:
        """The three tools."""
        return (
            _define("grep", "Search file contents like ripgrep. Prints path:line:text.", GrepArguments),
            _define("read", "Read a file, or a range of its lines, with line numbers.", ReadArguments),
            _define("list", "List files and folders.", ListArguments),
        )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call a tool; the reply is cut at `MAX_REPLY_CHARS`."""
        if tool not in self._tools:
            return CallReply(f"no tool {tool!r}; available: {', '.join(self._tools)}", is_error=True)
        try:
            return CallReply(_cut(self._tools[tool](arguments)))
        except _ToolError as error:
            return CallReply(f"{tool}: {error}", is_error=True)

    def _search(self, arguments: GrepArguments) -> str:
        pattern = _compile(arguments.pattern, regex.IGNORECASE if arguments.ignore_case else 0)
        deadline = time.monotonic() + _TIMEOUT_S
        blocks: list[str] = []
        remaining = arguments.max_matches
        for path in self._find_files(arguments.path, arguments.glob):
            lines = _read_lines(self._root / path) or []
            rows = [row for row, line in enumerate(lines) if _matches(pattern, line, deadline)]
            if not rows:
                continue
            if remaining <= 0:
                blocks.append(f"[more than {arguments.max_matches} matches; narrow the search]")
                break
            if arguments.files_only:
                blocks.append(f"{path}: {len(rows)}")
                remaining -= 1
            else:
                blocks += _format_matches(path, lines, rows[:remaining], arguments.context)
                remaining -= len(rows)
        return "\n".join(blocks) or "no matches"

    def _read(self, arguments: ReadArguments) -> str:
        path = self._resolve(arguments.path)
        lines = _read_lines(path) if path.is_file() else None
        if lines is None:
            raise _ToolError(f"{arguments.path} is not a text file")
        if arguments.start_line > len(lines):
            raise _ToolError(f"{arguments.path} has {len(lines)} lines")
        last = min(arguments.end_line or arguments.start_line + 1999, len(lines))
        numbered = (f"{row}\t{lines[row - 1]}" for row in range(arguments.start_line, last + 1))
        more = f"\n[{arguments.path} has {len(lines)} lines]" if last < len(lines) else ""
        return "\n".join(numbered) + more

    def _list(self, arguments: ListArguments) -> str:
        folder = self._resolve(arguments.path)
        if not folder.is_dir():
            raise _ToolError(f"{arguments.path} is not a folder")
        base = folder.relative_to(self._root)
        entries: dict[str, int] = {}
        for path in self._find_files(arguments.path, arguments.glob):
            parts = PurePosixPath(path).relative_to(base).parts
            entry = "/".join(parts[: arguments.depth]) + ("/" if len(parts) > arguments.depth else "")
            entries[entry] = entries.get(entry, 0) + 1
        rows = (f"{entry} ({count} files)" if entry[-1] == "/" else entry for entry, count in entries.items())
        return "\n".join(rows) or "no files"

    def _resolve(self, text: str) -> Path:
        path = (self._root / text).resolve()
        if not path.is_relative_to(self._root) or _HIDDEN_FOLDERS.intersection(path.relative_to(self._root).parts):
            raise _ToolError(f"{text} is outside the repository")
        if not path.exists():
            raise _ToolError(f"no file or folder {text}")
        return path

    def _find_files(self, text: str, glob: str) -> Iterator[str]:
        """Yield the files below a path in order, relative to the root."""
        start = self._resolve(text)
        excludes = glob.startswith("!")
        pattern = _compile(_translate_glob(glob.removeprefix("!"))) if glob else None
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            name = path.relative_to(self._root)
            if _HIDDEN_FOLDERS.intersection(name.parts) or path.is_symlink() or not path.is_file():
                continue
            if pattern is None or bool(pattern.fullmatch(name.as_posix())) != excludes:
                yield name.as_posix()


def _define(name: str, description: str, arguments: type[_ToolArguments]) -> ToolSpec:
    schema = arguments.model_json_schema()
    schema = {
        "type": "object",
        "required": schema.get("required", []),
        "additionalProperties": False,
        "properties": {
            key: {name: value for name, value in entry.items() if name != "title"}
            for key, entry in schema["properties"].items()
        },
    }
    return ToolSpec(name, description, schema)


def _validate(model: type[_Arguments], given: Mapping[str, Any]) -> _Arguments:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _ToolError("; ".join(format_faults(error))) from error


def _compile(pattern: str, flags: int = 0) -> "regex.Pattern[str]":
    try:
        return regex.compile(pattern, flags)
    except regex.error as error:
        raise _ToolError(f"invalid pattern {pattern!r}: {error}") from error


def _matches(pattern: "regex.Pattern[str]", line: str, deadline: float) -> bool:
    try:
        return pattern.search(line, timeout=max(deadline - time.monotonic(), 0.001)) is not None
    except TimeoutError as error:
        raise _ToolError(f"no result within {_TIMEOUT_S:g} s; use a simpler pattern or a narrower path") from error


def _read_lines(path: Path) -> list[str] | None:
    """Return the lines of a text file; None for binary, huge and unreadable files."""
    try:
        content = path.read_bytes() if path.stat().st_size <= _MAX_FILE_BYTES else b"\0"
    except OSError:
        return None
    return None if b"\0" in content[:8192] else content.decode("utf-8", "replace").splitlines()


def _format_matches(path: str, lines: Sequence[str], rows: Sequence[int], context: int) -> Iterator[str]:
    """Yield matching lines as ``path:line:text``, and lines around them as ``path-line-text``."""
    matching = set(rows)
    last = None
    displayed = {number for row in rows for number in range(row - context, row + context + 1)}
    for row in sorted(displayed.intersection(range(len(lines)))):
        if context and last is not None and row > last + 1:
            yield "--"
        mark = ":" if row in matching else "-"
        yield f"{path}{mark}{row + 1}{mark}{lines[row][:_MAX_LINE_CHARS]}"
        last = row


def _translate_glob(glob: str) -> str:
    """Translate a glob to a regular expression; without ``/`` it is matched against the name of the file."""
    tokens = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    prefix = "" if "/" in glob else "(?:.*/)?"
    parts = regex.findall(r"\*\*/|\*\*|[*?{},]|[^*?{},]+", glob)
    return f"{prefix}(?:{''.join(tokens.get(part, regex.escape(part)) for part in parts)})"


def _cut(text: str) -> str:
    if len(text) <= MAX_REPLY_CHARS:
        return text
    end = text.rfind("\n", 0, MAX_REPLY_CHARS)
    return text[: end if end > 0 else MAX_REPLY_CHARS] + f"\n[cut at {MAX_REPLY_CHARS} characters; narrow the call]"
