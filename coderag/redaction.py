"""Secrets are removed from what a model's server is sent: keys, tokens, private keys, passwords (docs/security.md).

Each is replaced by what it was, ``[secret removed: GitHub Token]``, and each line of a private key by that alone, so that
lines keep their numbers. Nothing is looked up anywhere: whether a key is valid is not asked.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from coderag.private_keys import INLINE_KEY, key_lines
from coderag.schema import Completion, ModelPrompt
from coderag.state import LanguageModel

if TYPE_CHECKING:
    from coderag.secret_patterns import SecretRule

_MARKER = re.compile(r"\[secret removed: [A-Za-z0-9 ()]{1,40}\]")
_TAIL = re.compile(r"[\w-]*(?:\.[\w-]{8,}={0,2})*")
"""What follows where a pattern ends at the least length of a token, or before the last part of one."""

_PIECE = 2_500  # characters of a line that patterns are tried on at once: generated files have lines of megabytes
_PROMPTS_KEPT = 4  # whoever counts the secrets of a prompt sends it next
_OVERLAP = 600  # a secret at the border of two pieces is in one of them whole


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without secrets.

    Attributes:
        text: With as many lines as before.
        secrets: Number of those that were removed.
    """

    text: str
    secrets: int


class Redactor:
    """Removes secrets from texts. It may be used by several threads.

    Args:
        rules: What is looked for, line by line; private keys of several lines are looked for in any case.
    """

    def __init__(self, rules: "Sequence[SecretRule]") -> None:
        self._rules = [(re.compile(rule.anchor), rule) for rule in rules]
        anchors = sorted({rule.anchor for rule in rules})
        # A line without any anchor can hold no secret. One rule without an anchor, and every line is looked at.
        self._anchor = re.compile("|".join(anchors) if all(anchors) else "")

    def redact(self, text: str) -> Redacted:
        """Return a text without its secrets; what is redacted already stays as it is."""
        secrets = 0
        while True:  # what is removed may uncover something; each time there is less that could be
            text, removed = self._once(text)
            if not removed:
                return Redacted(text, secrets)
            secrets += removed

    def _once(self, text: str) -> tuple[str, int]:
        removed = 0
        lines = text.split("\n")
        if "PRIVATE KEY" in text or "PuTTY" in text:
            for key in key_lines(lines):
                removed += 1
                for number in key:
                    lines[number] = _marker("Private Key") + "\r" * lines[number].endswith("\r")
        if self._anchor.search(text.casefold()):
            for number, line in enumerate(lines):
                folded = line.casefold()
                if self._anchor.search(folded):
                    lines[number], more = self._line(line, folded)
                    removed += more
        return "\n".join(lines), removed

    def _line(self, line: str, folded: str) -> tuple[str, int]:
        """Return a line without its secrets, and how many it had."""
        parts: list[str] = []
        end = removed = 0
        for start, stop, kind in sorted(self._secrets(line, folded), key=lambda found: (found[0], -found[1])):
            if start >= end:
                parts += [line[end:start], _marker(kind)]
                removed += 1
            end = max(end, stop)
        return "".join([*parts, line[end:]]), removed

    def _secrets(self, line: str, folded: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a line's secrets begin and end, and of what kind they are."""
        removed = [match.span() for match in _MARKER.finditer(line)]
        rules = [rule for anchor, rule in self._rules if anchor.search(folded)]
        for first in range(0, max(1, len(line) - _OVERLAP), _PIECE - _OVERLAP):
            piece = line[first : first + _PIECE]
            for rule in rules:
                for match in rule.pattern.finditer(piece):
                    if rule.accepts is not None and not rule.accepts(match):
                        continue
                    start, end = (first + at for at in match.span(rule.group))
                    if rule.group == 0 and (tail := _TAIL.match(line, end)):
                        end = tail.end()
                    if not any(a <= start and end <= b for a, b in removed):
                        yield start, end, rule.kind
        if "PRIVATE KEY" in line:
            yield from ((*match.span(), "Private Key") for match in INLINE_KEY.finditer(line))


@cache
def redactor() -> Redactor:
    """Return the redactor with all that is known; the first time, it takes 0.3 s to import detect-secrets."""
    from coderag.secret_assignments import assignment_rules  # noqa: PLC0415
    from coderag.secret_patterns import detector_rules, provider_rules  # noqa: PLC0415

    return Redactor([*provider_rules(), *detector_rules(), *assignment_rules()])


class RedactingModel:
    """A language model that is shown no secrets.

    Args:
        model: The model.

    Attributes:
        name, context_window: The model's.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.name = model.name
        self.context_window = model.context_window
        self._model = model

    def redact_prompt(self, prompt: ModelPrompt) -> tuple[ModelPrompt, int]:
        """Return a prompt as the model is sent it, and how many secrets were removed."""
        return _redacted_prompt(prompt)

    def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the reply in pieces as they come. Raises as the model."""
        return self._model.stream(self.redact_prompt(prompt)[0])

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the whole reply. Raises as the model."""
        return await self._model.complete(self.redact_prompt(prompt)[0])


@lru_cache(_PROMPTS_KEPT)
def _redacted_prompt(prompt: ModelPrompt) -> tuple[ModelPrompt, int]:
    system, user = redactor().redact(prompt.system), redactor().redact(prompt.user)
    return ModelPrompt(user=user.text, system=system.text), system.secrets + user.secrets


def _marker(kind: str) -> str:
    return f"[secret removed: {kind}]"
