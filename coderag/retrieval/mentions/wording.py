"""Sentences about mentions, and about their absence. Imports nothing slow."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.schema.mentions import MentionQuery, Mentions, UnusedReport

_ABSENT: Final[Mapping[MentionQuery, str]] = MappingProxyType(
    {
        "tests": "no line of a test mentions it",
        "documents": "no document or comment mentions it",
        "overrides": "no other declaration has its name",
        "subclasses": "no declaration of a type mentions it",
        "implementations": "no declaration of a type mentions it",
    }
)
_PRESENT: Final[Mapping[MentionQuery, tuple[str, str]]] = MappingProxyType(
    {
        "tests": ("1 line of tests mentions it", "{:,} lines of tests mention it"),
        "overrides": ("1 other declaration has its name", "{:,} other declarations have its name"),
    }
)


def describe_mentions(mentions: Mentions, query: MentionQuery | None = None) -> str:
    """Describe how many lines mention a name, as a clause with ``it`` for the name."""
    if mentions.total:
        single, plural = (
            _PRESENT.get(query, ("1 line mentions it", "{:,} lines mention it"))
            if query
            else (
                "1 line mentions it",
                "{:,} lines mention it",
            )
        )
        return single if mentions.total == 1 else plural.format(mentions.total)
    if (
        query is not None
        and query in _ABSENT
        and (mentions.tier == "full" or query in ("tests", "documents", "overrides"))
    ):
        return _ABSENT[query]
    files = "the indexed file" if mentions.files == 1 else f"the {mentions.files:,} indexed files"
    other = " and other declarations of the name" if mentions.declarations else ""
    return f"no line of {files} mentions it besides its declaration{other}"


def list_caveats(mentions: Mentions, query: MentionQuery | None = None) -> list[str]:
    """List what a reader has to know of the count, as sentences."""
    caveats = []
    if mentions.inside and not mentions.total:
        caveats.append(
            f"Inside its own declaration, {_count(mentions.inside, 'line mentions it', 'lines mention it')}."
        )
    if mentions.elsewhere and query != "overrides":
        uses = _count(mentions.elsewhere, "line uses", "lines use")
        caveats.append(f"{uses} another declaration called {' or '.join(mentions.words)}.")
    caveats.append(mentions.reason)
    if mentions.left_out:
        caveats.append(_describe_left_out(mentions.left_out))
    return caveats


def list_unused_notes(report: UnusedReport) -> list[str]:
    """List what a reader has to know of a list of unused declarations, as sentences."""
    where = f" in {report.path}" if report.path else ""
    declarations = _count(report.examined, "declaration", "declarations")
    notes = [f"{declarations}{where} examined: functions, methods and types of source files."]
    if report.excluded:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in report.excluded.items())
        notes.append(f"Without a resolved use, but not listed: {reasons}.")
    notes.append(
        "A search cannot prove that code is unused: reflection, templates, configuration and other repositories may reach it."
    )
    if report.left_out:
        notes.append(_describe_left_out(report.left_out))
    return notes


def _describe_left_out(count: int) -> str:
    files = _count(count, "file is", "files are")
    return f"{files} not in the index, or only in part, and not searched: `coderag status` lists why."


def _count(number: int, single: str, plural: str) -> str:
    return f"{number:,} {single if number == 1 else plural}"
