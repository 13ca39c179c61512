"""Channel of literals: the declarations and lines that have a name or text of the question as it is written.

The lexical index narrows the chunks by the literal's parts, and their text decides. Where nothing has the literal as it is
typed, the same words in another convention count: ``group_interval`` for ``GroupInterval``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.question.entities import names_in
from coderag.question.literals import is_hyphenated_word, is_plain_word
from coderag.retrieval.literal_text import LiteralOccurrence, find_exact, find_respelt, strip_signs
from coderag.retrieval.message_search import find_message_places, list_messages
from coderag.schema.query import Analysis, Candidate
from coderag.schema.vocabulary import FILE_NAMED_KINDS, VALUE_KINDS, Intent
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import EXACT_OTHER_SCOPE_QUALITY, SymbolMatch, split_qualified
from coderag.text.composition import compose
from coderag.text.tokenizer import expand_token, split_identifier, split_raw_tokens, stem

CHANNEL: Final = "literal"
MENTION_CHANNEL: Final = "mention"
"""Channel of undeclared identifiers of a question, which may be of another program."""

_MIN_EXACT_QUALITY = 0.9  # of a symbol match: the name as typed, in the requested scope
_MIN_FOLDED_QUALITY = 0.6
_MIN_KEY_QUALITY = 0.9  # of a literal at the beginning of a line, such as a key
_RESPELT_FACTOR = 0.65
_MESSAGE_QUALITY = 0.9  # of the code that writes a message with any values, before what repeats the message as typed
_MAX_MESSAGE_PLACES = 5
_SUFFIX_FACTOR = 0.6  # of the last part of a dotted name, whose other parts are elsewhere in the file
_OTHER_SCOPE_SHARE = 0.5  # weight of a dotted name declared only in another scope, such as a settings key
_MAX_TELLING_CHUNKS = 10  # chunks; beyond that each mention of a question's literal counts less
_MAX_DECLARATIONS = 50
_MAX_FILES = 5
_MAX_READ_CHUNKS, _MAX_QUESTION_CHUNKS = 4_000, 300
_MAX_PLAIN_WORD_CHUNKS, _MAX_SINGLE_WORD_CHUNKS = 5, 60  # a more common word is prose
_MAX_PLAIN_DECLARATIONS = 5
_MAX_LINES = 12  # of a declaration that is shown in full around a line
_BATCH_CHUNKS, _MAX_MATCHES = 2_000, 300

_FUNCTION_KINDS: Final = frozenset({"function", "method", "macro"})
_LEAF_KINDS: Final = VALUE_KINDS - {"key"}
"""Kinds of declarations that are shown in full around a line if they are small; of a container only the line is."""

_PROSE_KINDS: Final = FILE_NAMED_KINDS | VALUE_KINDS | {"rule", "impl"}
"""Kinds whose names are often plain words that mean something else."""

_ROLE_FACTORS: Final = {"example": 0.97, "docs": 0.9, "test": 0.92, "generated": 0.9, "vendored": 0.9}
"""What a document or a test declares comes after what code and configuration mention."""


@dataclass(frozen=True, slots=True)
class LiteralMatch:
    """A declaration or line that has a literal.

    Attributes:
        row: Row of its chunk.
        symbol: Qualified name of the declaration around it; empty for that of the chunk.
        quality: 0 to 1: 1 for the declaration of the name as typed.
        kind: Kind of the declaration of the name; empty for an occurrence.
        is_mention: Whether it mentions an identifier of a question.
    """

    row: int
    start_line: int
    end_line: int
    symbol: str
    quality: float
    kind: str = ""
    is_mention: bool = False


def find_literal_matches(
    corpus: Corpus, analysis: Analysis, allowed: NDArray[np.bool_] | None = None
) -> list[LiteralMatch]:
    """Find what has the literals of a question, best first.

    For a question, a match counts less the more chunks have the literal, and declared names do not count: they are found
    by name.

    Args:
        corpus: The open index.
        analysis: Analysis of the question.
        allowed: bool (n_chunks,), chunks that may be results; None if all may.
    """
    search = _LiteralSearch(corpus, allowed)
    matches = [match for message in list_messages(analysis) for match in search.find_message(message)]
    if analysis["literal_query"]:
        matches += [match for literal in analysis["literals"] for match in search.find_named(literal)]
    elif not analysis["report"] and analysis["intent"] != "find_similar":
        names = dict.fromkeys([*analysis["literals"], *names_in(analysis["entities"])])
        matches += [match for name in names for match in search.find_evidence(name, analysis["intent"])]
    factors = [_ROLE_FACTORS.get(corpus.get_value("role", match.row), 1.0) for match in matches]
    weighted = [replace(match, quality=match.quality * factor) for match, factor in zip(matches, factors, strict=True)]
    return sorted(weighted, key=lambda match: (-match.quality, match.row, match.start_line))


def build_literal_candidates(corpus: Corpus, matches: Iterable[LiteralMatch]) -> list[Candidate]:
    """Build the candidates of matches, one for each declaration or line."""
    ids = corpus.get_column("id")
    candidates: dict[tuple[int, int, str], Candidate] = {}
    for match in matches:
        candidates.setdefault(
            (match.row, match.start_line, match.symbol),
            Candidate(
                chunk_id=ids[match.row],
                score=0.0,
                channels={MENTION_CHANNEL if match.is_mention else CHANNEL: match.quality},
                signals={},
                start_line=match.start_line,
                end_line=match.end_line,
                symbol=match.symbol,
            ),
        )
    return list(candidates.values())


def get_literal_score(candidate: Candidate) -> float:
    """Return how well a candidate has a literal of the question, 0 to 1."""
    channels = candidate["channels"]
    return max(channels.get(CHANNEL, 0.0), channels.get(MENTION_CHANNEL, 0.0))


def score_literals(corpus: Corpus, candidates: Iterable[Candidate]) -> NDArray[np.float32]:
    """Score how well each chunk has a literal of the question: float32 (n_chunks,), 0 to 1."""
    scores = np.zeros(corpus.n_chunks, np.float32)
    for candidate in candidates:
        if (quality := get_literal_score(candidate)) > 0:
            row = corpus.rows_by_id[candidate["chunk_id"]]
            scores[row] = max(scores[row], quality)
    return scores


class _LiteralSearch:
    """Search for literals among the allowed chunks of a corpus."""

    def __init__(self, corpus: Corpus, allowed: NDArray[np.bool_] | None) -> None:
        self._corpus = corpus
        self._allowed = allowed

    def find_named(self, literal: str) -> list[LiteralMatch]:
        """Find what a query that is one literal asks for: files and declarations of that name, else its occurrences."""
        files = list(self._find_files(literal))
        if is_plain_word(literal):
            return self._find_plain_word(literal) or files
        declared = self._find_declarations(literal)
        exact = [match for match in declared if match.quality >= _MIN_EXACT_QUALITY]
        if any(match.kind not in _PROSE_KINDS for match in exact):
            return [*files, *exact]
        occurrences = [*files, *exact, *self._find_as_typed(literal, _MAX_READ_CHUNKS)]
        return occurrences or [*declared, *self._find_elsewise(literal, _MAX_READ_CHUNKS)]

    def find_evidence(self, literal: str, intent: Intent) -> list[LiteralMatch]:
        """Find the chunks of a question's literal, weighted by how telling it is."""
        if is_plain_word(literal) or any(self._iter_file_numbers(literal)):
            return []
        share = _compute_share(literal, self._corpus.symbols.find(literal), intent)
        if not share or (literal.isalnum() and len(expand_token(literal)) < 2):
            return []
        matches = self._find_as_typed(literal, _MAX_QUESTION_CHUNKS) or self._find_elsewise(
            literal, _MAX_QUESTION_CHUNKS
        )
        if is_hyphenated_word(literal):  # prose, unless it is a key or a name
            matches = [match for match in matches if match.quality >= _MIN_KEY_QUALITY]
        rarity = min(1.0, _MAX_TELLING_CHUNKS / max(len({match.row for match in matches}), 1))
        is_mention = literal.isidentifier() or share <= _OTHER_SCOPE_SHARE
        return [
            replace(
                self._widen_to_chunk(match) if is_mention else self._widen_line(match),
                quality=match.quality * share * rarity,
                is_mention=is_mention,
            )
            for match in matches
        ]

    def find_message(self, message: str) -> list[LiteralMatch]:
        """Find the declarations that write a message with any values, if the question gives most of its text."""
        places = find_message_places(self._corpus, message, self._allowed)[:_MAX_MESSAGE_PLACES]
        return [
            replace(match, quality=_MESSAGE_QUALITY * place.match.share)
            for place in places
            for match in self._locate_lines(place.row, place.start_line)
        ]

    def _find_plain_word(self, word: str) -> list[LiteralMatch]:
        """Find a word that may be prose: few functions or types of that name, or few chunks that have the word at all."""
        declared = [match for match in self._find_declarations(word) if match.kind not in _PROSE_KINDS]
        exact = [match for match in declared if match.quality >= _MIN_EXACT_QUALITY] or declared
        if len(exact) > 1:  # helpers of tests are often called by a word of what they help to test
            exact = [match for match in exact if self._corpus.get_value("role", match.row) != "test"]
        if declared:
            return exact if len(exact) <= _MAX_PLAIN_DECLARATIONS else []
        rows = self._corpus.find_chunks_with_term(stem(word))
        if len(rows) > _MAX_PLAIN_WORD_CHUNKS:
            return []
        best: dict[int, LiteralMatch] = {}
        for match in self._find_as_typed(word, _MAX_READ_CHUNKS):
            if match.row not in best or best[match.row].quality < match.quality:
                best[match.row] = match
        return list(best.values())

    def _find_declarations(self, literal: str) -> list[LiteralMatch]:
        """Find the declarations of a name, in any convention."""
        name = strip_signs(literal)
        symbols = self._corpus.symbols.find(name)[:_MAX_DECLARATIONS] if name else []
        return [
            self._build_declaration(symbol)
            for symbol in symbols
            if symbol.quality >= _MIN_FOLDED_QUALITY and self._is_allowed(symbol.row)
        ]

    def _build_declaration(self, symbol: SymbolMatch) -> LiteralMatch:
        corpus, row = self._corpus, symbol.row
        start, end = int(corpus.start_lines[row]), int(corpus.end_lines[row])
        if start <= symbol.start_line and symbol.end_line <= end:  # else the declaration spans several chunks
            start, end = symbol.start_line, symbol.end_line
        is_exact = symbol.quality >= _MIN_EXACT_QUALITY
        quality = symbol.quality * (1.0 if is_exact else _RESPELT_FACTOR / 0.7)
        return LiteralMatch(row, start, end, symbol.qualified_name, quality, symbol.kind)

    def _find_as_typed(self, literal: str, limit: int) -> list[LiteralMatch]:
        """Find the occurrences of a literal as typed, else without the signs around it."""
        for text in dict.fromkeys((literal, strip_signs(literal))):
            if text and (matches := self._find_text(text, limit)):
                return matches
        return []

    def _find_text(self, text: str, limit: int) -> list[LiteralMatch]:
        terms = [expand_token(raw) for raw in split_raw_tokens(text)]
        required = [raw_terms[0] for raw_terms in terms if raw_terms]
        is_single = len(required) == 1 and not required[0].startswith("=")
        rows = self._corpus.find_chunks_with_terms(required) if required else self._list_all_rows()
        if is_single and text.isalnum() and len(rows) > _MAX_SINGLE_WORD_CHUNKS:
            return []
        return self._read_matches(rows, required, limit, lambda content: find_exact(content, text))

    def _find_elsewise(self, literal: str, limit: int) -> list[LiteralMatch]:
        """Find the same words in another convention, else the last part of a dotted name in files with the others."""
        parts = [part for raw in split_raw_tokens(literal) for part in split_identifier(raw)]
        if " " not in literal and (len(parts) > 1 or not literal.islower()):
            compound = "".join(parts)
            required = [stem(part) for part in parts if not part.isdigit()]
            rows = np.union1d(
                self._corpus.find_chunks_with_terms(required), self._corpus.find_chunks_with_term(stem(compound))
            )
            rows = np.union1d(rows, self._corpus.find_chunks_with_term(f"={compound}"))
            matches = self._read_matches(rows, required, limit, lambda content: find_respelt(content, parts))
            if matches:
                return [replace(match, quality=match.quality * _RESPELT_FACTOR) for match in matches]
        *scopes, last = split_qualified(literal) or [""]
        if not scopes or not last:
            return []
        return [
            replace(match, quality=match.quality * _SUFFIX_FACTOR)
            for match in self._find_text(last, limit)
            if self._has_words_in_file(match.row, scopes)
        ]

    def _has_words_in_file(self, row: int, names: Sequence[str]) -> bool:
        """Return whether the file of a chunk has all words of some names."""
        corpus = self._corpus
        file = corpus.chunk_files[row]
        terms = {raw_terms[0] for name in names for raw in split_raw_tokens(name) if (raw_terms := expand_token(raw))}
        return all((corpus.chunk_files[corpus.find_chunks_with_term(term)] == file).any() for term in terms)

    def _list_all_rows(self) -> NDArray[np.int32]:
        return np.arange(self._corpus.n_chunks, dtype=np.int32)

    def _read_matches(
        self,
        rows: NDArray[np.int32],
        terms: Sequence[str],
        limit: int,
        find: Callable[[str], Sequence[LiteralOccurrence]],
    ) -> list[LiteralMatch]:
        """Read the chunks of some rows, the best by their terms if they are too many, and locate the occurrences."""
        corpus = self._corpus
        if self._allowed is not None:
            rows = rows[self._allowed[rows]]
        if len(rows) > limit and terms:
            scores = corpus.body.score(corpus.get_term_ids(terms))[rows]
            rows = np.sort(rows[np.argsort(-scores, kind="stable")[:limit]])
        matches: list[LiteralMatch] = []
        for start in range(0, len(rows), _BATCH_CHUNKS):
            batch = rows[start : start + _BATCH_CHUNKS].tolist()
            for row, text in zip(batch, corpus.read_texts(batch), strict=True):
                if occurrences := find(text):
                    matches += self._locate(row, occurrences)
            if len(matches) >= _MAX_MATCHES:
                break
        return matches

    def _locate(self, row: int, occurrences: Sequence[LiteralOccurrence]) -> Iterator[LiteralMatch]:
        """Yield the best occurrence in each declaration of a chunk: the declaration, or the line in a large one."""
        corpus = self._corpus
        first, last = int(corpus.start_lines[row]), int(corpus.end_lines[row])
        members = corpus.chunk_symbols[row]
        best: dict[str, LiteralMatch] = {}
        for occurrence in occurrences:
            line = min(first + occurrence.line, last)
            start, end, symbol = line, line, ""
            if enclosing := [member for member in members if member["start_line"] <= line <= member["end_line"]]:
                inner = min(enclosing, key=lambda member: member["end_line"] - member["start_line"])
                symbol, clipped = (
                    inner["qualified_name"],
                    (max(inner["start_line"], first), min(inner["end_line"], last)),
                )
                is_small = inner["kind"] in _LEAF_KINDS and clipped[1] - clipped[0] < _MAX_LINES
                if inner["kind"] in _FUNCTION_KINDS or is_small:
                    start, end = clipped
            elif corpus.get_value("kind", row) in _FUNCTION_KINDS:  # a further part of a long function
                start, end = first, last
            if symbol not in best or best[symbol].quality < occurrence.quality:
                best[symbol] = LiteralMatch(row, start, end, symbol, occurrence.quality)
        yield from best.values()

    def _locate_lines(self, row: int, line: int) -> Iterator[LiteralMatch]:
        """Yield the declaration around a line of a chunk, or the line in a large one."""
        yield from self._locate(row, [LiteralOccurrence(line - int(self._corpus.start_lines[row]), _MESSAGE_QUALITY)])

    def _widen_line(self, match: LiteralMatch) -> LiteralMatch:
        """Return a match with the paragraph around its line, or its section: a question asks for more than the line."""
        if match.start_line != match.end_line:
            return match
        if self._corpus.get_value("kind", match.row) == "section":
            return self._widen_to_chunk(match)
        first = int(self._corpus.start_lines[match.row])
        lines = self._corpus.read_texts([match.row])[0].removesuffix("\n").split("\n")
        start = end = min(match.start_line - first, len(lines) - 1)
        while start > 0 and lines[start - 1].strip() and end - start < _MAX_LINES // 2:
            start -= 1
        while end + 1 < len(lines) and lines[end + 1].strip() and end - start < _MAX_LINES:
            end += 1
        return replace(match, start_line=first + start, end_line=first + end)

    def _widen_to_chunk(self, match: LiteralMatch) -> LiteralMatch:
        corpus, row = self._corpus, match.row
        return replace(match, start_line=int(corpus.start_lines[row]), end_line=int(corpus.end_lines[row]), symbol="")

    def _find_files(self, literal: str) -> Iterator[LiteralMatch]:
        """Yield the beginning of each file with that name or path."""
        corpus = self._corpus
        files = sorted(self._iter_file_numbers(literal), key=lambda file: len(corpus.paths[file]))
        for file in files[:_MAX_FILES]:
            row = corpus.get_chunk_rows(file).start
            if self._is_allowed(row):
                yield LiteralMatch(row, int(corpus.start_lines[row]), int(corpus.end_lines[row]), "", 1.0)

    def _iter_file_numbers(self, literal: str) -> Iterator[int]:
        """Yield the files with a path, a name, or a name with hyphens apart from its extension."""
        path = compose(literal).removeprefix("./")
        may_be_stem = "-" in path and "." not in path
        if not (may_be_stem or "." in path or "/" in path or path[:1].isupper()):
            return
        suffix = f"/{path}"
        for file, known_path in enumerate(map(compose, self._corpus.paths)):
            if path in known_path:
                name = f"/{known_path}"
                if name.endswith(suffix) or (may_be_stem and name.rpartition(".")[0].endswith(suffix)):
                    yield file

    def _is_allowed(self, row: int) -> bool:
        return self._allowed is None or bool(self._allowed[row])


def _compute_share(name: str, declared: Sequence[SymbolMatch], intent: Intent) -> float:
    """Compute the weight of a mention, 0 to 1, from the declarations of its name."""
    if not declared or (
        not name.replace("_", "").isalnum() and all(match.quality < _MIN_EXACT_QUALITY for match in declared)
    ):
        return _OTHER_SCOPE_SHARE if declared and _is_other_scope(name, declared) else 1.0
    if intent == "find_usage" and all(match.kind in VALUE_KINDS for match in declared):
        return 1.0
    return _OTHER_SCOPE_SHARE if _is_other_scope(name, declared) else 0.0


def _is_other_scope(name: str, declared: Sequence[SymbolMatch]) -> bool:
    return len(split_qualified(name)) > 1 and all(
        declaration.quality <= EXACT_OTHER_SCOPE_QUALITY for declaration in declared
    )
