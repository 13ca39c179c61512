"""Show where something goes wrong: what raises, handles or tells of a failure that a question is about."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLABLE, LONGEST_LINE, IndexReader
from coderag.answering.extractive.wording import Writer, code
from coderag.question.failure_words import describe_failure
from coderag.schema.query import QueryState
from coderag.text.tokenizer import tokenize_query, tokenize_text

_MOST_CHUNKS = 60  # looked through
_MOST_SHOWN = 4  # places
_BEFORE, _AFTER = 1, 4  # lines around one
_BESIDE: Final = 0.5  # of what words count that stand next to a line, or in the name of what it is in
_LEAST: Final = 0.6  # of the question's words, by rarity and by number
_FOUND: Final = 1.25  # for what the search found as well
_FAILS: Final = re.compile(
    r"\b(?:raise|rethrow|throw|except|catch|rescue|panic|abort|bail|die|reject|fatal)\b|\w*(?:error|exception|failure|failed|warn)(?!\w*\s*(?:[>\]]|\)\s*\{))"
    r"|\breturn\b.*\berr\b|\bErr\(|\bexit\w*\s*\(",
    re.IGNORECASE,
)
_NO_STATEMENT: Final = re.compile(
    r"^\s*(?:#(?!\[)|//|/?\*|--|import\b|from\b|use\b|using\b|require\b|include\b|package\b|\"\"\"|'''|$)"
)
_DECLARES: Final = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|internal|static|async|export|open|final|override)\s+)*"
    r"(?:def|func|fn|fun|function|class|struct|enum|interface|trait|type|module|mod|impl|extension)\b"
)


@dataclass(frozen=True, slots=True)
class _Place:
    value: float
    line: int
    row: int
    inside: str


def write_failures(writer: Writer, index: IndexReader, state: QueryState) -> bool:
    """Write the lines that raise, handle or tell of what a question asks about; whether there are any."""
    found = list(islice(_shown(index, _places(index, state)), _MOST_SHOWN))
    if found:
        writer.heading("Where this seems to fail or to be handled")
    for name, lines in found:
        writer.say(f"- {f'{code(name)} — ' if name else ''}{writer.cite(lines)}\n")
        writer.code(dedent(lines.text).split("\n"), index.language(lines.path), "  ")
        writer.say()
    return bool(found)


def _places(index: IndexReader, state: QueryState) -> list[_Place]:
    """Return the lines that fail or handle, those first that have most of the question's words."""
    rarities = _rarities(index, state)
    corpus = index.corpus
    results = [corpus.rows_by_id[one["chunk_id"]] for one in state["results"]]
    rows = index.chunks_by_words(rarities, 2 * _MOST_CHUNKS, results)
    about_tests = state["analysis"]["about_tests"]
    wanted = ("source", "test") if about_tests else ("source",)
    rows = [row for row in rows if corpus.file_roles[corpus.chunk_files[row]] in wanted][:_MOST_CHUNKS]
    texts = corpus.read_texts(rows)
    chunks = zip(rows, texts, strict=True)
    places = [one for row, text in chunks for one in _of_chunk(index, row, text, rarities, about_tests=about_tests)]
    order = {row: number for number, row in enumerate(rows)}
    worth = {row: _FOUND if row in results else 1.0 for row in rows}
    return sorted(places, key=lambda one: (-one.value * worth[one.row], order[one.row], one.line))


def _rarities(index: IndexReader, state: QueryState) -> Mapping[str, float]:
    question = describe_failure(state["analysis"]["question"])
    terms = dict.fromkeys(term for term in tokenize_query(question) if term in index.corpus.term_ids)
    return {term: index.corpus.idf(term) for term in terms if not term.startswith("=")}


def _of_chunk(
    index: IndexReader, row: int, text: str, rarities: Mapping[str, float], *, about_tests: bool
) -> Iterator[_Place]:
    """Yield the lines of a chunk that fail or handle, each with how much of the question it has."""
    corpus = index.corpus
    first, path = int(corpus.start_lines[row]), corpus.paths[corpus.chunk_files[row]]
    lines = [line[:LONGEST_LINE] for line in text.removesuffix("\n").split("\n")]
    terms = [set(tokenize_text(line)) & rarities.keys() for line in lines]
    for number, line in enumerate(lines if rarities else ()):
        if not _FAILS.search(line) or _NO_STATEMENT.match(line) or _DECLARES.match(line):
            continue
        around = index.at(path, first + number)
        if around is None or around.kind not in CALLABLE or (around.role == "test" and not about_tests):
            continue
        named = set(tokenize_text(f"{path} {around.name}")) & rarities.keys()
        beside = named.union(*terms[max(number - _BEFORE, 0) : number + _AFTER])
        has = sum(rarities[term] for term in beside) / sum(rarities.values())
        if min(has, len(beside) / len(rarities)) >= _LEAST and len(beside) > len(named - terms[number]):
            value = sum(rarities[term] * (1.0 if term in terms[number] else _BESIDE) for term in beside)
            yield _Place(value, first + number, row, around.name)


def _shown(index: IndexReader, places: Sequence[_Place]) -> Iterator[tuple[str, CitedLines]]:
    """Yield the best places, one of each declaration, with the lines around it and what it is in."""
    taken: set[tuple[str, str]] = set()
    for place in places:
        path = index.corpus.paths[index.corpus.chunk_files[place.row]]
        start = max(place.line - _BEFORE, int(index.corpus.start_lines[place.row]))
        end = min(place.line + _AFTER, int(index.corpus.end_lines[place.row]))
        if (path, place.inside) not in taken and (lines := index.lines(path, start, end)):
            taken.add((path, place.inside))
            yield place.inside, lines
