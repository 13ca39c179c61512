"""Statements that raise, handle or report a failure, by the syntax of single lines in all parsed languages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

FailureKind = Literal["raises", "returns", "handles", "exits", "reports", "retries", "closes"]

_PATTERNS: Final[Mapping[FailureKind, re.Pattern[str]]] = MappingProxyType(
    {
        "raises": re.compile(
            r"\b(?:raise|rethrow|throw)\b(?!s)(?:\s+new)?\s*\(?(?P<error>[A-Z_][\w.:\\]*)?|\b(?:panic|bail|unreachable)!?\s*\("
            r"|^\s*(?:die|error|abort)\s*\(|\breject\s*\("
        ),
        "exits": re.compile(r"\b(?:sys\.|os\.|process(?:\.|::))?_?[eE]xit\s*\(|\bSystem\.exit\s*\("),
        "returns": re.compile(
            r"\breturn\b.*(?:\bErr\(|\berrors?\.|\bErrorf\b|\berr\b|\{:error|Error\()|^\s*Err\((?!.*=>)|\breturn\s+(?:nil|false|null|None)\s*,\s*\S"
            r"|\b(?:callback|cb|done|next|reject)\(\s*(?:err|error|new\s+\w*Error)\b|\{:error,"
        ),
        "handles": re.compile(
            r"^\W*(?:except|rescue|catch)\b\s*\(?\s*(?P<error>[\w.,:|\\ ]*[\w])?|\.catch\s*\(|\berr\s*!=\s*nil\b"
            r"|\bErr\(.*\)\s*=>"
            r"|\bif\s+let\s+(?:Some\()?Err\b|\bpcall\s*\(|\.on(?:ce)?\(\s*['\"]error['\"]|\bif\s*\(\s*err(?:or)?\s*\)|\bcase\s+\w*:?\s*\w*(?:Exception|Throwable|Error)\b"
        ),
        "reports": re.compile(
            r"\b(?:log|logger|logging|_log|LOG|console|slog|Logger)\b[\w.:>-]*\.?(?:warn\w*|error\w*|fatal\w*|severe|exception|critical|info|debug|trace|[pP]rint\w*)?!?\s*\("
            r"|\b(?:warn|warning|error|eprintln|eprint|perror|cerr|_warn|printerr|write_?[eE]rror)!?\s*\(|\bfprintf\s*\(\s*stderr|\[ERR\]",
        ),
        "retries": re.compile(r"\bretr(?:y|ies)\w*|\b\w*[sS]leep\w*\s*\(|\b\w*[bB]ackoff\w*|\b[rR]econnect\w*"),
        "closes": re.compile(
            r"\b(?:[\w.>-]*[cC]lose\w*|destroy|unlink|disconnect\w*|kill|terminate|cancel\w*)\s*\(|conn_closing"
        ),
    }
)
"""Kinds in order of preference, each with what its line matches; ``error`` is the type that is raised or caught."""

_NO_STATEMENT: Final = re.compile(
    r"^\s*(?:#(?!\[)|//|/?\*|--|import\b|from\b|use\b|using\b|require\b|include\b|package\b|\"\"\"|'''|@\w|$)"
)
_DECLARES: Final = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|internal|static|async|export|open|final|override|local)\s+)*"
    r"(?:def|func|fn|fun|function|class|struct|enum|interface|trait|type|module|mod|impl|extension|defp)\b"
)
_GUARD: Final = re.compile(
    r"^\W*(?:else\s+if|elsif|elseif|elif|else|if|unless|when|case|default|except|catch|rescue|while|until|match|switch|try)\b"
)
_MAX_GUARD_DISTANCE: Final = 12
_MAX_LINE_CHARS: Final = 400
_ONLY_ELSE: Final = re.compile(r"^\W*(?:else|try|default)\W*$")


@dataclass(frozen=True, slots=True)
class FailureStatement:
    """Line of a declaration that decides what a failure leads to.

    Attributes:
        position: Position of the line among those of the declaration.
        error: Type that is raised or caught, if the line names one.
    """

    kind: FailureKind
    position: int
    error: str = ""


def find_failure_statements(lines: Sequence[str]) -> Iterator[FailureStatement]:
    """Yield the statements of a declaration about failures, in order."""
    for position, line in enumerate(lines):
        text = line[:_MAX_LINE_CHARS]
        if _NO_STATEMENT.match(text) or _DECLARES.match(text):
            continue
        for kind, pattern in _PATTERNS.items():
            if match := pattern.search(text):
                error = match.groupdict().get("error") or ""
                yield FailureStatement(kind, position, error.strip())
                break


def find_guard(lines: Sequence[str], position: int) -> int | None:
    """Find the condition that a line stands under, by indentation; None without one near it."""
    indent = measure_indent(lines[position])
    for other in range(position - 1, max(position - 1 - _MAX_GUARD_DISTANCE, -1), -1):
        line = lines[other][:_MAX_LINE_CHARS]
        if line.strip() and measure_indent(line) < indent:
            if _GUARD.match(line):
                return None if _ONLY_ELSE.match(line) else other
            indent = measure_indent(line)
    return None


def measure_indent(line: str) -> int:
    """Return the number of white-space characters that a line begins with."""
    return len(line) - len(line.lstrip())
