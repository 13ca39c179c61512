"""Read stack traces of Python, JavaScript, Java, C#, Go, Rust, Ruby and PHP: which function, in which file, at which line."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST_LINES = 4_000  # of a report; what follows is a log
_LONGEST_LINE = 1_000  # a longer one is data


class Frame(NamedTuple):
    """A call of a trace.

    Attributes:
        path: As written, with ``/`` between folders; empty where a language gives none.
        line: 1-based; 0 if not given.
        name: The function as written, such as ``Session.login``; empty if not given.
        depth: 0 for the innermost call of its trace, the one that failed.
    """

    path: str
    line: int
    name: str
    depth: int


class Trace(NamedTuple):
    """The frames of all traces in a text, innermost first, and the numbers (from 0) of the lines that they take."""

    frames: list[Frame]
    lines: frozenset[int]


_PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s\"'():,<>|]+?\.\w{1,5})"
_NAME = r"(?P<name>[\w.$<>~]+)"

_INNERMOST_LAST = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\W*File \"(?P<path>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<name>[\w.<>]+))?",
        rf"^\W*File {_PATH}:(?P<line>\d+), in {_NAME}",  # IPython 8
        rf"^[\s>-]*{_PATH} in {_NAME}\((?P<line>)",  # IPython 5 to 7
        rf"^\s*(?:\d+\s+|at )?{_PATH}:(?P<line>\d+):? in {_NAME}",  # pytest, and console frameworks
    )
)
_INNERMOST_FIRST = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*at (?P<name>[\w.$<>]+)\((?P<path>[\w$-]+\.(?:java|kt|scala|groovy)):(?P<line>\d+)\)",  # the JVM
        r"^\s*at (?P<name>[\w.`<>\[\]]+)\(.*\) in (?P<path>.+?):line (?P<line>\d+)",  # .NET
        r"^\s*at (?:async )?(?:new )?(?:(?P<name>[\w.$<>]+)(?: \[as [^\]]+\])? \()?"
        r"(?:file://)?(?P<path>[^\s()]+?\.\w+):(?P<line>\d+):\d+\)?",  # JavaScript; Rust's place
        r"^\s*(?:from )?(?P<path>[^\s:]+\.rb):(?P<line>\d+):in [`'](?:block .* in )?(?P<name>[\w.#?!<>: ]+)'",
        r"^\s*#\d+ (?P<path>\S+\.php)\((?P<line>\d+)\): (?P<name>[\w\\:>-]+)\(",
        r"^\s+(?P<name>)(?P<path>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?\s*$",
    )
)
_GO_CALL = re.compile(r"^(?P<name>[\w./*()-]+?)\((?:0x|\.\.\.|\{|\)).*$")
_RUST_CALL = re.compile(r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<name>[\w:<>]+?)(?:::h[0-9a-f]{16})?\s*$")
_NAMES_BEFORE = (_GO_CALL, _RUST_CALL)
_HINT = re.compile(r"\bline \d|:\d+|\.py\S* in \w|\(\d+\): ")  # cheap: most lines are no frames


def read_traces(lines: Sequence[str]) -> Trace:
    """Return the frames in a text's lines."""
    last = _read(lines, _INNERMOST_LAST, lambda frames: frames[::-1])
    first = _read(lines, _INNERMOST_FIRST, lambda frames: frames)
    return Trace([*last.frames, *first.frames], last.lines | first.lines)


def _read(
    lines: Sequence[str], patterns: Sequence[re.Pattern[str]], order: Callable[[list[Frame]], list[Frame]]
) -> Trace:
    found: dict[int, Frame] = {}
    for number, line in enumerate(lines[:_MOST_LINES]):
        if len(line) < _LONGEST_LINE and _HINT.search(line):
            match = next((match for pattern in patterns if (match := pattern.search(line))), None)
            if match:
                name = match["name"] or _name_before(lines, number)
                path = match["path"].replace("\\", "/").removeprefix("./")
                found[number] = Frame(path, int(match["line"] or 0), name, 0)
    frames = [
        frame._replace(depth=depth)
        for trace in _runs(sorted(found))
        for depth, frame in enumerate(order([found[number] for number in trace]))
    ]
    return Trace(frames, frozenset(found))


def _name_before(lines: Sequence[str], number: int) -> str:
    """Return the function that Go and Rust write on the line before its place."""
    before = lines[number - 1] if number else ""
    match = next((match for pattern in _NAMES_BEFORE if (match := pattern.match(before))), None)
    return match["name"].rpartition("/")[2] if match else ""


_GAP = 12  # lines of source that a trace may show between two calls


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Cut line numbers where a trace ends and the next one begins."""
    runs = [[number] for number in numbers[:1]]
    for before, number in pairwise(numbers):
        if number - before > _GAP:
            runs.append([])
        runs[-1].append(number)
    return runs
