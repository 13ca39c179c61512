"""Search and replacement of secrets in a text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.models.redaction.patterns import SecretRule

_MARKER = re.compile(r"\[secret removed: [A-Za-z0-9 ()]{1,40}\]")
_TAIL = re.compile(r"[\w-]*(?:\.[\w-]{8,}={0,2})*")
"""Rest of a token after a pattern that ends at the minimum length, or before the last part."""

_WINDOW_CHARS = 2_500  # long lines are searched in windows: generated files have lines of megabytes
_OVERLAP_CHARS = 600  # a secret at a border is complete in one of the windows


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without secrets.

    Attributes:
        text: The text, with its original number of lines.
        secrets: Number of removed secrets.
    """

    text: str
    secrets: int


class Redactor:
    """Removes secrets from texts. Thread-safe.

    Args:
        rules: Rules to apply line by line; multi-line private keys are always removed.
    """

    def __init__(self, rules: "Sequence[SecretRule]") -> None:
        self._rules = [(re.compile(rule.anchor), rule) for rule in rules]
        anchors = sorted({rule.anchor for rule in rules})
        # A line without any anchor has no secret. If a rule lacks an anchor, every line is searched.
        self._anchor = re.compile("|".join(anchors) if all(anchors) else "")

    def redact(self, text: str) -> RedactedText:
        """Return a text without its secrets; existing markers are kept."""
        secrets = 0
        while True:  # a removal may expose another secret; terminates, as candidates shrink
            text, removed = self._redact_once(text)
            if not removed:
                return RedactedText(text, secrets)
            secrets += removed

    def _redact_once(self, text: str) -> tuple[str, int]:
        removed = 0
        lines = text.split("\n")
        if "PRIVATE KEY" in text or "PuTTY" in text:
            from coderag.models.redaction.private_keys import find_key_lines  # noqa: PLC0415  # few texts have one

            for key in find_key_lines(lines):
                removed += 1
                for number in key:
                    lines[number] = _format_marker("Private Key") + "\r" * lines[number].endswith("\r")
        if self._anchor.search(text.casefold()):
            for number, line in enumerate(lines):
                folded = line.casefold()
                if self._anchor.search(folded):
                    lines[number], n_line_secrets = self._redact_line(line, folded)
                    removed += n_line_secrets
        return "\n".join(lines), removed

    def _redact_line(self, line: str, folded: str) -> tuple[str, int]:
        """Redact a line, and return the number of its secrets."""
        parts: list[str] = []
        end = removed = 0
        for start, stop, kind in sorted(self._find_secrets(line, folded), key=lambda span: (span[0], -span[1])):
            if start >= end:
                parts += [line[end:start], _format_marker(kind)]
                removed += 1
            end = max(end, stop)
        return "".join([*parts, line[end:]]), removed

    def _find_secrets(self, line: str, folded: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and kind of a line's secrets."""
        removed = [match.span() for match in _MARKER.finditer(line)]
        rules = [rule for anchor, rule in self._rules if anchor.search(folded)]
        for first in range(0, max(1, len(line) - _OVERLAP_CHARS), _WINDOW_CHARS - _OVERLAP_CHARS):
            window = line[first : first + _WINDOW_CHARS]
            for rule in rules:
                for match in rule.pattern.finditer(window):
                    if rule.accepts is not None and not rule.accepts(match):
                        continue
                    start, end = (first + offset for offset in match.span(rule.group))
                    if rule.group == 0 and (tail := _TAIL.match(line, end)):
                        end = tail.end()
                    if not any(a <= start and end <= b for a, b in removed):
                        yield start, end, rule.kind
        if "PRIVATE KEY" in line:
            from coderag.models.redaction.private_keys import INLINE_KEY  # noqa: PLC0415  # as above

            yield from ((*match.span(), "Private Key") for match in INLINE_KEY.finditer(line))


@cache
def get_redactor() -> Redactor:
    """Return the redactor with all rules; the first call takes 0.3 s to import detect-secrets."""
    from coderag.models.redaction.assignments import build_assignment_rules  # noqa: PLC0415
    from coderag.models.redaction.patterns import build_detector_rules, build_provider_rules  # noqa: PLC0415

    return Redactor([*build_provider_rules(), *build_detector_rules(), *build_assignment_rules()])


def _format_marker(kind: str) -> str:
    return f"[secret removed: {kind}]"
