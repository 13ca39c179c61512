"""Answer whether something is unused: from relations and mentions, with what may still reach it, and never as a fact."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.relation_groups import users_of
from coderag.answering.extractive.usages import write_unresolved, write_usages
from coderag.answering.extractive.wording import Writer, code, command, counted, kind_name, prose
from coderag.errors import InvalidQueryError
from coderag.retrieval.mentions.wording import list_unused_notes
from coderag.schema.mentions import UnusedReport
from coderag.schema.query import QueryState
from coderag.stores.snippets import Snippet

_MOST_LISTED: Final = 20
_LEADS: Final = {frozenset({"tested"}): "Only tests use", frozenset({"imported"}): "Other files import"}
_TITLES: Final = {"likely": "Likely unused", "possible": "Possibly unused"}


def write_unused(
    writer: Writer, index: IndexReader, state: QueryState, results: Sequence[Snippet]
) -> Sequence[str] | None:
    """Write whether what a question names is unused, or what is unused of a folder or of all; None if it names nothing known.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the analysis.
        results: What the question found.
    """
    names = [entity["text"] for entity in state["analysis"]["entities"]]
    if state["analysis"].get("about_unused") == "list":
        return _write_report(writer, index, _find_report(index, names))
    declared = {name: index.named(name) for name in names}
    named = next((name for name in names if declared[name]), "")
    if not named:
        return None
    used = [kind for one in declared[named] for kind, users in users_of(index, one).items() if users]
    if used:
        lead = _LEADS.get(frozenset(used), "Other code uses")
        writer.say(f"{lead} {code(named)}, so that more than its declaration would have to change.\n")
        return write_usages(writer, index, state, results)
    missing = write_unresolved(writer, index, [named], "find_usage")
    reasons = list(dict.fromkeys(reason for one in declared[named] for reason in index.unused.explain(one.node)))
    for reason in reasons:
        writer.say(f"- It may still be reached: {prose(reason)}.")
    writer.say(
        "- A search cannot prove that code is unused. Reflection, configuration or another repository may reach it."
    )
    return missing


def _find_report(index: IndexReader, names: Sequence[str]) -> UnusedReport:
    """Return what is unused below the first path that a question names; of the whole repository if it names none."""
    for name in names:
        try:
            return index.unused.find(name, limit=_MOST_LISTED)
        except InvalidQueryError:
            continue
    return index.unused.find(limit=_MOST_LISTED)


def _write_report(writer: Writer, index: IndexReader, report: UnusedReport) -> list[str]:
    where = f" of {code(report.path)}" if report.path else ""
    have = "has" if report.total == 1 else "have"
    writer.say(f"**{counted(report.total, 'declaration')}{where} {have} no use that is known.**")
    for certainty, title in _TITLES.items():
        listed = [one for one in report.results if one.certainty == certainty]
        if listed:
            writer.heading(title)
        for one in listed:
            place = index.line(one.path, one.start_line)
            where = f" — {writer.refer(place)}" if place else ""
            writer.say(f"- {code(one.qualified_name)} ({kind_name(one.kind)}): {prose('; '.join(one.reasons))}{where}")
    if report.total > len(report.results):
        writer.say(
            f"- and {report.total - len(report.results):,} more: {command('unused', report.path or '.')} lists them"
        )
    writer.say()
    for note in list_unused_notes(report):
        writer.say(f"- {prose(note)}")
    return []
