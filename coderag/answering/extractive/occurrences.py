"""List where a name is written: of values, whose uses the code graph does not know, and of names that nothing declares."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLABLE, LONGEST_LINE, TYPES, Declared, IndexReader
from coderag.answering.extractive.wording import Writer, code, code_line, command, counted, search_command
from coderag.schema.mentions import MentionContext, Mentions
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.symbol_table import split_qualified
from coderag.text.tokenizer import tokenize_query, tokenize_text

_ROLES: Final = ("source", "generated", "config", "example", "docs", "vendored", "test")
_MOST_SHOWN = 20
_MOST_ALIKE, _MOST_UNTIED = 6, 5
_CONTEXTS: Final[Mapping[MentionContext, str]] = MappingProxyType(
    {"import": "import", "string": "in a string", "comment": "comment", "text": "document"}
)
_MOST_SAID, _MOST_TOLD = 5, 2  # lines of a name in an explanation, and those of documents
_CHANGE_LOG: Final = re.compile(r"(?:^|/)(?:change(?:s|log)|history|news|release[-_]?notes)[^/]*$", re.IGNORECASE)
_MOST_LINES = 4  # of one file, while others are to be shown
_MOST_OF_THE_SAME = 3  # lines


def occurrences(index: IndexReader, name: str, declared: Sequence[Declared] = ()) -> list[CitedLines]:
    """Return the lines that have a name as a word, outside of its declarations: of its own files first, of tests last.

    Args:
        index: The open index.
        name: A name, as it is written; of something declared only its last part counts.
        declared: What it means.
    """
    own = {one.path for one in declared}
    last = _last(name)
    declares = re.compile(
        rf"\b(?:class|struct|enum|interface|trait|type|def|func|function|fn|sub)\s+{re.escape(last)}\b"
    )

    def order(line: CitedLines) -> tuple[bool, bool, int, str, int]:
        role = _ROLES.index(index.role(line.path))
        return line.path not in own, not declares.search(line.text), role, line.path, line.start_line

    return sorted(cited_mentions(index.mentioned(name, declared)), key=order)


def cited_mentions(mentions: Mentions) -> list[CitedLines]:
    """Return the lines of mentions, as answers cite them; those that are too long to be shown are left out."""
    lines = (CitedLines(one.path, one.line, one.line, one.text) for one in mentions.lines)
    return [line for line in lines if len(line.text) <= LONGEST_LINE]


def extensions(index: IndexReader, name: str, declared: Sequence[Declared]) -> list[CitedLines]:
    """Return the lines that extend or implement a type of elsewhere, by their words; none of a type of the repository."""
    last = _last(name)
    if any(one.kind in TYPES and one.name.rpartition(".")[2] == last for one in declared):
        return []
    word = re.escape(last)
    extends = re.compile(
        rf"\bimpl\b.*\b{word}\b.*\bfor\b|\b(?:implements|extends|include|with)\b[^;]*\b{word}\b"
        rf"|\b(?:class|struct|interface|trait|enum|record|object)\s+\w[^;=]*[(:,]\s*(?:[\w.]+[.:])?{word}\b"
    )
    return [line for line in occurrences(index, last) if extends.search(line.text)]


def untied_calls(index: IndexReader, declared: Sequence[Declared]) -> list[CitedLines]:
    """Return the lines of code that call a method of the same name on something, and that the code graph ties to nothing.

    Those of values that are called as where it is known come first. Of a name that many declarations have there are none:
    they may be calls of any.
    """
    last = declared[0].name.rpartition(".")[2]
    alike = index.named(last)
    if len(alike) >= _MOST_ALIKE or any(one.kind not in CALLABLE for one in declared):
        return []
    nodes = {node for one in alike for node in index.called(one)}
    tied = {(call.path, call.line) for call in index.calls(nodes, inwards=True)}
    call = re.compile(rf"^(?!\s*(?:#|//|/?\*)).*?(\w*)(?:\(\))?(?:\.|->|::)\s*{re.escape(last)}\s*\(")
    found = [(line, called[1]) for line in occurrences(index, last, declared) if (called := call.search(line.text))]
    known = {value for line, value in found if (line.path, line.start_line) in tied}
    untied = [
        one for one in found if (one[0].path, one[0].start_line) not in tied and index.role(one[0].path) != "docs"
    ]
    return [line for line, _ in sorted(untied, key=lambda one: one[1] not in known)]


def write_untied(writer: Writer, declared: Sequence[Declared], lines: Sequence[CitedLines]) -> None:
    """Write calls that may be of a method."""
    writer.heading(f"Perhaps also ({len(lines):,}): the code does not tell of what type the value is")
    for line in lines[:_MOST_UNTIED]:
        writer.say(f"- {code_line(line.text)} — {writer.cite(line)}")
    if len(lines) > _MOST_UNTIED:
        writer.say(
            f"- and {len(lines) - _MOST_UNTIED:,} more: {command('mentions', declared[0].name)} lists all of that name"
        )


def write_occurrences(writer: Writer, name: str, places: Sequence[CitedLines]) -> None:
    """Write lines that have a name, by file."""
    writer.heading(f"Written in ({len(places):,})")
    shown = _spread(places)
    for path, group in groupby(shown, key=lambda one: one.path):
        of_file = list(group)
        if len(of_file) > 1:
            writer.say(f"- {code(path)}")
        indent = "  " if len(of_file) > 1 else ""
        for one in of_file:
            writer.say(f"{indent}- {code_line(one.text)} — {writer.cite(one)}")
    if len(places) > len(shown):
        writer.say(f"- and {len(places) - len(shown):,} more: {command('mentions', name)} lists all")


def write_mentions(writer: Writer, name: str, mentions: Mentions) -> None:
    """Write the lines that mention a name, code first, each with the declaration that it is in."""
    shown = [line for line in mentions.lines if len(line.text) <= LONGEST_LINE][:_MOST_SHOWN]
    if shown:
        writer.heading(f"Lines that mention {code(mentions.words[0])} ({mentions.total:,})")
    for one in shown:
        inside = f"{code(one.symbol)} — " if one.symbol and one.kind not in FILE_NAMED_KINDS else ""
        what = "" if one.context == "code" else f" ({_CONTEXTS[one.context]})"
        place = writer.cite(CitedLines(one.path, one.line, one.line, one.text))
        writer.say(f"- {inside}{code_line(one.text)}{what} — {place}")
    if mentions.total > len(shown):
        writer.say(f"- and {mentions.total - len(shown):,} more: {command('mentions', name)} lists all")


def write_said_of(writer: Writer, index: IndexReader, question: str, name: str, places: Sequence[CitedLines]) -> None:
    """Write the few lines that tell most of a name that nothing declares, such as a setting: of documents, then of code.

    Of several settings of that name, those first that stand where the other words of the question do.
    """
    corpus = index.corpus
    translated = {corpus.paths[file] for file in corpus.translated_files.tolist()}
    others = set(tokenize_query(question)) - set(tokenize_text(name))

    def near(line: CitedLines) -> int:
        return -len(others.intersection(tokenize_text(f"{line.path} {index.chunk_name(line.path, line.start_line)}")))

    documented = [one for one in places if index.role(one.path) == "docs" and one.path not in translated]
    told = sorted(documented, key=lambda one: (_is_change_log(one), not _tells(one.text, name), near(one)))[:_MOST_TOLD]
    written = [one for one in places if index.role(one.path) not in ("docs", "test")]
    assigned = sorted(written, key=lambda one: (not _assigns(one.text, name), near(one)))[: _MOST_SAID - len(told)]
    shown = [*told, *assigned]
    if shown:
        writer.heading(f"{code(name)} is written in {counted(len(places), 'line')}")
    for one in shown:
        writer.say(f"- {code_line(one.text)} — {writer.cite(one)}")
    if len(places) > len(shown):
        writer.say(f"- {search_command(name)} lists all\n")


def _is_change_log(line: CitedLines) -> bool:
    return _CHANGE_LOG.search(line.path) is not None


def _tells(line: str, name: str) -> bool:
    """Whether a line of a document begins with a name, as a row of a table and an entry of a list do, and goes on."""
    return re.match(rf"\W*{re.escape(name)}\W+\w", line) is not None


def _assigns(line: str, name: str) -> bool:
    """Whether a line of code gives a name its type or value, or declares an option."""
    if name.startswith("-"):
        return re.match(rf"[^\"']*[\"']{re.escape(name)}[\"']\s*[,)]", line) is not None
    return re.search(rf"(?<!\w){re.escape(name)}[\"'`]?\s*(?::(?!:)|=(?!=))", line) is not None


def _last(name: str) -> str:
    return (split_qualified(name) or [name])[-1]


def _spread(places: Sequence[CitedLines]) -> list[CitedLines]:
    """Return the first places, of each file a few, and few of what stands in many files, such as pages of a manual."""
    shown: list[CitedLines] = []
    seen: Counter[str] = Counter()
    for _, group in groupby(places, key=lambda one: one.path):
        for one in list(group)[:_MOST_LINES]:
            seen[one.text.strip()] += 1
            shown += [one] if seen[one.text.strip()] <= _MOST_OF_THE_SAME else []
    return shown[:_MOST_SHOWN]
