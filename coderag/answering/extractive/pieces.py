"""Show a piece of code or documentation, and what it says of itself."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLS, IndexReader
from coderag.answering.extractive.excerpt import Rarities, telling
from coderag.answering.extractive.wording import (
    Writer,
    code,
    code_line,
    first_sentence,
    joined,
    lines_of,
    prose,
    shown_name,
    without_tags,
)
from coderag.schema.query import QueryState, RelatedChunk
from coderag.schema.vocabulary import FILE_NAMED_KINDS, EdgeRelation
from coderag.stores.snippets import Snippet

_LONGEST_DOCUMENTATION = 600  # characters
_LONGEST_SECTION = 16  # lines of a document
_MOST_CALLED = 4
_TABLE_HEAD = 2  # lines: the names of the columns, and the rule
_SHORT = 4  # lines; a piece with fewer may be the head of a type whose members are pieces of their own
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]*>")
_LIST_ENTRY: Final = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)(.*)$")
_FENCE: Final = re.compile(r"^\s*(`{3,}|~{3,})")
_QUOTE_MARK: Final = re.compile(r"^\s*(?:>\s?)+")
_RULE: Final = re.compile(r"^\s*:?-+:?\s*$")
_UNDERLINE: Final = re.compile(r"^[=\-~^\"'*+#]{3,}\s*$")
_NONE: Final[Rarities] = MappingProxyType({})


def reason(index: IndexReader, piece: Snippet) -> str:
    """Return in a few words what a piece is for: its summary, else what it calls; empty if neither says anything."""
    declared = index.of_piece(piece) if piece.kind not in FILE_NAMED_KINDS else None
    summary = piece.docstring or index.summary_of_row(index.corpus.rows_by_id[piece.chunk_id])
    if sentence := first_sentence(summary or (index.summary(declared) if declared else "")):
        return sentence
    if declared is None or declared.kind == "file":
        return ""
    called = list(dict.fromkeys(call.target.name for call in index.calls(index.acting(declared.node))))
    names = [code(name) for name in called if not f"{name}.".startswith(f"{declared.name}.")][:_MOST_CALLED]
    return f"Calls {joined(names)}." if names else ""


def show(writer: Writer, piece: Snippet, longest: int, indent: str = "", rarities: Rarities = _NONE) -> None:
    """Write the code of a piece, and its documentation where that is not in it.

    Of a long one, the head, or what of it has the words of the question, by their `rarities`.
    """
    if piece.kind == "section":
        _quote(writer, piece, indent, rarities)
        return
    lines = piece.text.strip("\n").split("\n")
    if len(lines) - longest > 1:
        lines = _cut(lines, telling(lines, longest, rarities, _line_of_name(piece, lines)))
    documentation = _paragraphs(piece.docstring)
    if documentation and documentation[0].split("\n", 1)[0] not in "\n".join([*lines, piece.summary]):
        quoted = f"\n{indent}>\n".join(f"{indent}> {prose(paragraph)}" for paragraph in documentation)
        writer.say(f"{quoted}\n")
    writer.code(lines, piece.language, indent)


def _cut(lines: Sequence[str], shown: Sequence[range]) -> list[str]:
    """Return the lines that are shown, with a mark for those between them and for all that are not."""
    cut: list[str] = []
    for run in shown:
        cut += [f"… {run.start - shown[0].stop} lines"] if run != shown[0] else []
        cut += lines[run.start : run.stop]
    left = len(lines) - shown[-1].stop if len(shown) > 1 else len(lines) - len(shown[0])
    return [*cut, f"… {left} more line{'' if left == 1 else 's'}"] if left else cut


def also(writer: Writer, index: IndexReader, pieces: Sequence[Snippet], title: str) -> None:
    """Write a list of pieces, each with what it is for."""
    if pieces:
        writer.heading(title)
    for piece in pieces:
        why = reason(index, piece)
        name = "" if shown_name(piece) == piece.path else code(shown_name(piece))
        said = ": ".join(part for part in (name, why) if part) or code_line(piece.text.strip().split("\n")[0])
        writer.say(f"- {f'{said} — ' if said else ''}{writer.cite(lines_of(piece))}")


def whole(index: IndexReader, piece: Snippet) -> Snippet:
    """Return a piece, or the declaration that it is no more than the first line of."""
    declared = index.of_piece(piece) if piece.kind not in FILE_NAMED_KINDS else None
    if declared is None or declared.name != piece.name or piece.end_line - piece.start_line + 1 >= _SHORT:
        return piece
    lines = index.lines_of(declared)
    if lines is None:
        return piece
    return replace(piece, path=lines.path, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)


def relations(
    writer: Writer, index: IndexReader, state: QueryState, pieces: Sequence[Snippet], most: int, before: Collection[str]
) -> None:
    """Write how related code belongs to the results, each with the line that says so, where one does.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With results and related code.
        pieces: The related code.
        most: How many are written, at most.
        before: What has been said already.
    """
    found = {(one["chunk_id"], one["related_to"]): one for one in state["related"]}
    told: dict[str, CitedLines] = {}
    for piece in sorted(pieces, key=lambda piece: piece.relation in _OF_FILES):
        if piece.relation in (None, "sibling", "contains", "contained_by"):
            continue
        line = _evidence(index, piece, found.get((piece.chunk_id, piece.related_to)))
        phrase = _phrase(index, piece, line)
        if phrase and phrase not in before:
            told.setdefault(f"{phrase}{f': {code_line(line.text)}' if line else ''}", line or lines_of(piece))
    if told:
        writer.heading("How the pieces relate")
    for sentence, lines in list(told.items())[:most]:
        writer.say(f"- {sentence} — {writer.cite(lines)}")


def _evidence(index: IndexReader, piece: Snippet, related: RelatedChunk | None) -> CitedLines | None:
    """Return the line that says how a piece belongs to a result: in the file of the piece, or of what it was reached from."""
    if related is None:
        return None
    path = piece.path
    if piece.relation in _FROM_RESULT:
        path = index.corpus.get_value("path", index.corpus.rows_by_id[related["origin"]])
    return index.line(path, related["line"])


_OF_FILES: Final = frozenset({"imports", "imported_by"})
_FROM_RESULT: Final = frozenset({"callee", "imports", "base", "interface_of"})
"""Relations whose line of evidence is the result's."""

_DERIVING: Final = ("inherits", "implements", "overrides")
_SAID_BY_LINE: Final[Mapping[str, Sequence[EdgeRelation]]] = MappingProxyType(
    {
        "caller": CALLS,
        "callee": CALLS,
        "base": _DERIVING,
        "derived": _DERIVING,
        "interface_of": _DERIVING,
    }
)
"""What a line of evidence says of its own declaration, by how the piece belongs to its result."""

_VERBS: Final = MappingProxyType(
    {
        "calls": "calls",
        "instantiates": "calls",
        "inherits": "extends",
        "implements": "implements",
        "overrides": "overrides",
    }
)


def _phrase(index: IndexReader, piece: Snippet, line: CitedLines | None) -> str:
    """Return how a piece belongs to its result; what the line itself says, for chunks may have other declarations too."""
    said = _SAID_BY_LINE.get(piece.relation or "")
    if said is None or line is None:
        return piece.relation_phrase
    for tie in index.ties_at(line.path, line.start_line, said):
        inside = tie.target.path == piece.path and piece.start_line <= tie.target.start_line <= piece.end_line
        if inside or piece.relation not in _FROM_RESULT:
            return f"{code(tie.source.name)} {_VERBS[tie.relation]} {code(tie.target.name)}"
    return ""


def _quote(writer: Writer, piece: Snippet, indent: str, rarities: Rarities) -> None:
    """Write a section of a document as a quotation: its text and code, but none of its headings, links and pictures."""
    lines = piece.text.strip("\n").split("\n")
    shown = telling(lines, _LONGEST_SECTION, rarities)
    quoted = _quoted(lines, shown)
    while quoted and (not quoted[0].strip() or prose(piece.name.rpartition(" > ")[2]) == quoted[0].strip("* ")):
        quoted.pop(0)
    more = len(lines) - sum(map(len, shown))
    body = "\n".join(f"{indent}> {line}".rstrip() for line in quoted)
    writer.say(body)
    rest = f"… {more} more lines in " if more > 0 else ""
    writer.say(f"{indent}>\n{indent}> — {rest}{writer.cite(lines_of(piece))}")


def _quoted(lines: Sequence[str], shown: Sequence[range]) -> list[str]:
    """Return the lines that are shown as they are quoted; a block of code and a table are whole again where they are cut."""
    quoted: list[str] = []
    fence = ""  # that is open
    for number, line in enumerate(lines):
        is_shown = any(number in run for run in shown)
        if number == shown[-1].start and len(shown) > 1:
            quoted += ["…", "", *([fence] if fence else _table_head(lines, number))]
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
            quoted += [line] if is_shown else []
        elif is_shown and (fence or not _UNDERLINE.match(line)):
            quoted.append(line if fence else _plain(line))
        if fence and is_shown and not any(number + 1 in run for run in shown):
            quoted.append(fence)
    return quoted


def _table_head(lines: Sequence[str], number: int) -> list[str]:
    """Return the head of the table that a line is a row of; nothing if it is in none, or in its head."""
    start = number
    while start and lines[start - 1].lstrip().startswith("|") and lines[number].lstrip().startswith("|"):
        start -= 1
    return [_plain(line) for line in lines[start : min(start + _TABLE_HEAD, number)]]


def _plain(line: str) -> str:
    line = _LINK.sub(lambda found: found[1] or "", _QUOTE_MARK.sub("", line))
    if line.lstrip().startswith("#"):
        title = prose(line.lstrip("# "))
        return f"**{title}**" if title else ""
    if (row := line.strip()).startswith("|") and row.endswith("|"):
        return "|".join(part if _RULE.match(part) else prose(part) for part in re.split(r"(?<!\\)\|", row))
    if entry := _LIST_ENTRY.match(line):
        return f"{entry[1]}{prose(entry[2])}"
    return prose(line)


def _line_of_name(piece: Snippet, lines: Sequence[str]) -> int:
    """Return where the name of a piece first stands: small declarations share a chunk, and another may come before."""
    if piece.kind in FILE_NAMED_KINDS:
        return 0
    word = re.compile(rf"(?<!\w){re.escape(re.split(r'[.:#/]', piece.name)[-1])}(?!\w)")
    return next((number for number, line in enumerate(lines[:-1]) if word.search(line)), 0)


def _paragraphs(docstring: str) -> list[str]:
    """Return the first paragraphs of a docstring, some 600 characters, without its tags."""
    shown: list[str] = []
    for paragraph in _PARAGRAPH.split(without_tags(docstring).strip()):
        if shown and sum(map(len, shown)) + len(paragraph) > _LONGEST_DOCUMENTATION:
            break
        if paragraph.strip():
            shown.append(paragraph.strip()[: 2 * _LONGEST_DOCUMENTATION])
    return shown
