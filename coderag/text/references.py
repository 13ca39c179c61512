"""References to tickets, pull requests and commits that stand in text."""

import re
from typing import Final

_TICKET: Final = re.compile(r"(?<![\w/.-])[A-Z][A-Z0-9_]{1,15}-[1-9]\d{0,8}(?![\w-])")
"""A key as Jira and its like have it: PROJ-45."""

STANDARD_PREFIXES: Final = frozenset(
    {
        "AES", "ANSI", "ASCII", "BS", "CAPEC", "CP", "CVE", "CWE", "DIN", "DSA", "ECMA", "EN", "ES", "FIPS", "GMT", "GPT",
        "HTTP", "IEC", "IEEE", "IPV", "ISO", "JSR", "MD", "MP", "PEP", "PKCS", "RC", "RFC", "RSA", "SHA", "SSL", "TIS",
        "TLS", "UCS", "UTC", "UTF", "WCAG", "WINDOWS",
    }
)  # fmt: skip
"""Prefixes of standards, algorithms and encodings that look like keys of tickets: ``UTF-8``, ``SHA-256``, ``CVE-2024``."""

_NO_PROJECTS: Final = STANDARD_PREFIXES | {"GH", "X"}  # GH-123 is a number
_NUMBER: Final = re.compile(r"(?:(?<![\w&/#])|(?<=\bGH)-?)#([1-9]\d{0,8})(?!\w)|\bGH-([1-9]\d{0,8})\b")
"""An issue or pull request by its number: #123, GH-123. ``&#123;`` is an entity, ``page#12`` an anchor."""

_COMMIT: Final = re.compile(r"(?<![\w/.-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
"""An abbreviated or full commit id: at least a digit and a letter, since numbers and words are none."""


def find_tickets(text: str) -> list[str]:
    """Return the keys and numbers of tickets and pull requests in a text, as ``PROJ-45`` and ``#123``, each once."""
    references = [
        (match.start(), match[0]) for match in _TICKET.finditer(text) if match[0].partition("-")[0] not in _NO_PROJECTS
    ]
    references += [(match.start(), f"#{match[1] or match[2]}") for match in _NUMBER.finditer(text)]
    return list(dict.fromkeys(reference for _, reference in sorted(references)))


def find_commit_ids(text: str) -> list[str]:
    """Return the words of a text that may be commit ids, each once."""
    return list(dict.fromkeys(_COMMIT.findall(text)))
