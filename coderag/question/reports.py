"""Take a report of a problem apart: title, prose, code, messages, traces; what every report has is dropped."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from coderag.question.entities import looks_like_code
from coderag.question.stack_traces import Frame, read_traces

PartKind = Literal["title", "prose", "steps", "code", "message", "trace", "log"]


class Part(NamedTuple):
    """A piece of a report."""

    kind: PartKind
    text: str


class Place(NamedTuple):
    """A place in the code that a report links to. ``line`` is 0 if the whole file is meant."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Report:
    """A report taken apart.

    Attributes:
        parts: In the order of the text.
        frames: Calls of its stack traces, the innermost of each first.
        places: What its links to source files point to.
    """

    parts: list[Part] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def text(self, *kinds: PartKind) -> str:
        """Return the text of the parts of some kinds."""
        return "\n".join(part.text for part in self.parts if part.kind in kinds)


_FEWEST_WORDS = 20  # of a text in paragraphs; a shorter one is a question
_LONG = 60  # words from which one paragraph is a report as well
_FEWEST_OUTSIDE = 10  # words around code; fewer are "code like this"
_WORD = re.compile(r"[^\W\d_]{2,}")

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\[]*\]\([^)\[]*\)|<img\b[^<>]*>")
_LINK = re.compile(r"\[([^\]\[\n]*)\]\(([^)\s\[]*)\)")
_URL = re.compile(r"\b(?:https?|file|ssh)://[^\s<>\"')\]]+")
_SOURCE_URL = re.compile(r"/(?:blob|tree|src|raw)/[^/\s]+/([^\s#?)\]]+\.\w+)(?:#L(\d+))?")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+|\*\*(?=[^*]+\*\*:?\s*$))(.*?)\**:?\s*#*$")
_CHECKBOX = re.compile(r"^\s*[-*]\s*\[[ xX]\]")
_INDENTED = re.compile(r"^(?: {4}|\t)\s*\S")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|In ?\[\d*\]:|Out ?\[\d*\]:)\s?")

_ENVIRONMENT = re.compile(
    r"\b(?:environment|versions?|system info\w*|platform|set-?up|configuration|debugging information|dependencies"
    r"|packages|checklist|before submitting|your env\w*|operating system)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\b(?:reproduc\w*|steps|test case|minimal|example|repro)\b", re.IGNORECASE)
_VERSION_LINE = re.compile(
    r"^\W*(?:[\w .()/+*-]{1,40}?\s*(?::|==|>=|\|)\s*)\**\s*v?\d+(?:\.\w+)+\b.{0,80}$"  # Python version: 3.6
    r"|^\W*(?:os|operating system\w*|platform|python|node|arch\w*|kernel|locale|shell|browser)\b[^.!?]{0,60}[:=]"
    r"|^\W*requirement already (?:satisfied|up-to-date)|^\s*[\w.-]+\s+v?\d+(?:\.\d+){1,3}\w*\s*$",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"^\W*\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\W*\d\d:\d\d:\d\d\b|^\W*\[?(?:DEBUG|INFO|NOTICE|TRACE|VERBOSE)\b|^\[[\w:. -]+\] "
    r"|^\s*(?:Sending event|Parsed|Downloading|Collecting|Installing|Using cached|Successfully)\b"
)
_ERROR_IN_LOG = re.compile(r"\b(?:error|exception|critical|fatal|failed|traceback|panic)\b", re.IGNORECASE)
_EXCEPTION = re.compile(
    r"^\W*(?:E\s+)?(?:Caused by: |thread '.*' )?(?:[\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure)\b.*"
    r"|^\W*(?:panic|fatal error|error|panicked at)\b:? .*",
)
_MESSAGE = re.compile(
    r"^\W*(?:(?:[\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning)|error|fatal(?: error)?|panic|warning)\"?\s*:\s*\S",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^[\s~^│|_=+>-]*$|^Traceback \(most recent|^During handling of|^The above exception")


_MAX_LINE_CHARS = 500
"""Characters that decide what a line is; patterns take a time that is quadratic in them."""


def is_report(text: str) -> bool:
    """Whether a text tells about a problem (at length, with a title, code or a trace, or by its message) rather than asks."""
    lines = text.strip().splitlines()
    if len(lines) < 2:  # one line is a question, however long, if it is no message
        return bool(_MESSAGE.match(text[:_MAX_LINE_CHARS]))
    if read_traces(lines).frames:
        return True
    words = len(_WORD.findall(text))
    fenced = any(_FENCE.match(line) for line in lines)
    if _is_only_code(lines) if fenced else looks_like_code(text):
        return False
    asks = lines[0].rstrip().endswith("?")
    told_in_paragraphs = not asks and any(not line.strip() for line in lines)
    return words >= _LONG or (words >= _FEWEST_WORDS and (fenced or told_in_paragraphs))


def _is_only_code(lines: Sequence[str]) -> bool:
    """Whether nothing but a short question is around fenced code."""
    outside, fenced = 0, False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            outside += len(_WORD.findall(line))
    return outside < _FEWEST_OUTSIDE


def take_apart(text: str) -> Report:
    """Return the parts of a report."""
    places = [
        Place(match[1], int(match[2] or 0))
        for url in _URL.finditer(text)
        if (match := _SOURCE_URL.search(url[0][:_MAX_LINE_CHARS]))
    ]
    plain = _URL.sub(" ", _LINK.sub(r"\1 ", _IMAGE.sub(" ", _COMMENT.sub(" ", text))))
    lines = plain.strip().splitlines()
    trace = read_traces(lines)
    reader = _Reader(trace.lines)
    ordered: list[Part] = []
    for number, line in enumerate(lines):
        kind = reader.kind(number, line[:_MAX_LINE_CHARS])
        if kind is None:
            continue
        if ordered and ordered[-1].kind == kind:
            ordered[-1] = Part(kind, f"{ordered[-1].text}\n{line}")
        else:
            ordered.append(Part(kind, line.lstrip("# ") if kind == "title" else line))
    return Report(ordered, trace.frames, list(dict.fromkeys(places)))


class _Reader:
    """Tells for one line after the other what part of the report it is.

    Args:
        traced: Numbers of the lines that are calls of a stack trace.
    """

    def __init__(self, traced: frozenset[int]) -> None:
        self._traced = traced
        self._titled = self._fenced = False
        self._section: Literal["prose", "steps", "environment"] = "prose"
        self._source_lines = 0  # that a trace may still show of its last call

    def kind(self, number: int, line: str) -> PartKind | None:
        """Return what a line is; None if it says nothing."""
        if number in self._traced:
            self._source_lines = 1
            self._titled = True  # nothing but a trace, or one at the very beginning: there is no title
            return None
        if not line.strip() or _MARKER.match(line) or self._is_structure(line):
            return None
        if not self._titled:
            self._titled = True
            return "title"
        if _VERSION_LINE.match(line):
            return None
        return self._said(line)

    def _is_structure(self, line: str) -> bool:
        """Whether a line only divides the report."""
        if _FENCE.match(line):
            self._fenced = not self._fenced
            return True
        if self._titled and not self._fenced and (heading := _HEADING.match(line)):
            self._section = _section(heading[1])
            return True
        return bool(_CHECKBOX.match(line))

    def _said(self, line: str) -> PartKind | None:
        self._source_lines -= 1
        if _EXCEPTION.match(line):
            return "message"
        if self._source_lines >= 0:
            return "trace"
        if _LOG_LINE.match(line):
            return "message" if _ERROR_IN_LOG.search(line) else "log"
        if self._section == "environment":
            return None
        if self._fenced or _INDENTED.match(line) or _PROMPT.match(line):
            return "code"
        return self._section


def _section(heading: str) -> Literal["prose", "steps", "environment"]:
    if _STEPS.search(heading):
        return "steps"
    return "environment" if _ENVIRONMENT.search(heading) else "prose"
