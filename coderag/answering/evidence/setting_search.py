"""Search for a setting: the lines that give it its default, those that read it, and what the documentation says of it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.setting_lines import SettingLines
from coderag.answering.evidence.setting_names import (
    DEFAULT_WORD,
    compute_word_share,
    get_last_part,
    has_key,
    has_quote,
    matches_key,
    split_words,
)
from coderag.answering.evidence.value_lines import ValueForm, ValueLine, find_value_lines
from coderag.retrieval.literal_text import strip_signs
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import VALUE_KINDS
from coderag.stores.snippets import Snippet
from coderag.stores.symbol_table import fold_name, split_qualified
from coderag.stores.used_values import find_used_values
from coderag.text.tokenizer import tokenize_text

_MAX_CHUNKS: Final = 120
_MAX_VALUES: Final = 4
_MAX_KEYS: Final = 3
_MIN_SUFFIX_WORDS: Final = 2  # of a key without its first words, such as the prefix of an environment variable
_FORMS: Final[dict[ValueForm, float]] = {"option": 1.0, "fallback": 0.95, "argument": 0.9, "assignment": 0.85}
_ROLES: Final[dict[str, float]] = {
    "source": 1.0, "generated": 0.8, "config": 0.7, "vendored": 0.5, "example": 0.4, "docs": 0.3, "test": 0.15,
}  # fmt: skip
_COMPUTED: Final = 0.5  # factor of a value that is no literal
_OF_SUFFIX: Final = 0.6  # factor of a key without its first words
_OF_RESULTS: Final = 0.6  # added for the first result, less for later ones
_OF_WORDS: Final = 0.5  # added for all of the question's words around a value
_OF_ALIAS: Final = 0.9  # factor of a constant or variable that a key is assigned or read to
_NEARLY: Final = 0.6  # of the best score: another value of the same name
_OF_NAMED: Final = 0.3  # added for a setting that the best results name
_MIN_QUALITY: Final = 0.3  # of a setting that is asked for in words
_MAX_NAMING: Final = 3  # results
_MAX_WORD_CHUNKS: Final = 40
_WINDOW: Final = 2  # lines around a value
_CONSTANT_KINDS: Final = VALUE_KINDS | {"macro"}
_NAMES: Final = re.compile(r"[\w$][\w$.\-]*")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A default of a setting.

    Attributes:
        name: As the line spells it.
        lines: The line.
        constant: Line that declares the constant which is the value; None for a literal.
        constant_value: Value of that constant.
    """

    name: str
    value: str
    lines: CitedLines
    form: ValueForm
    score: float
    is_literal: bool
    constant: CitedLines | None = None
    constant_value: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts about a setting.

    Attributes:
        name: As the question puts it, else as it is declared.
        values: Its defaults, best first; more than one if it has several, such as of presets.
        readers: Lines that read it.
        documented: Lines of the documentation about it.
    """

    name: str
    values: Sequence[SettingValue]
    readers: Sequence[CitedLines]
    documented: Sequence[CitedLines]


class SettingSearch:
    """Search for the setting that a question asks about.

    Args:
        reader: The open index.
        state: With the analysis and the results.
        results: The results, best first.
        term_idf: IDF of the question's terms.
    """

    def __init__(
        self, reader: IndexReader, state: QueryState, results: Sequence[Snippet], term_idf: Mapping[str, float]
    ) -> None:
        self._reader = reader
        self._corpus = reader.corpus
        self._analysis = state["analysis"]
        self._results = results
        self._term_idf = term_idf
        self._lines = SettingLines(reader, results, term_idf)
        self._value_lines: dict[int, list[ValueLine]] = {}
        self._result_rows = [reader.corpus.rows_by_id[result["chunk_id"]] for result in state["results"]]

    def find(self) -> Setting | None:
        """Find the setting by the names that the question gives, else by its words; None if nothing is one."""
        keys = self._list_keys()
        settings = [setting for key in keys if (setting := self._find_by_name(key))]
        with_value = [setting for setting in settings if setting.values]
        if with_value:
            return max(with_value, key=lambda setting: setting.values[0].score)
        return next(iter(settings), None) or (None if keys else self._find_by_words())

    # Names of a question

    def _list_keys(self) -> list[str]:
        """List the names of a question that may be settings, in any convention; those that it marks as options first."""
        analysis = self._analysis
        names = [
            entity["text"] for entity in analysis["entities"] if entity["kind"] in ("identifier", "qualified_name")
        ]
        literals = [text for text in analysis["literals"] if "/" not in text]
        keys = [
            *(text for text in literals if text.startswith("-")),
            *analysis["reading"]["subjects"],
            *literals,
            *names,
        ]
        longest = [key for key in keys if not any(key != other and strip_signs(key) in other for other in keys)]
        stripped = dict.fromkeys(key for key in map(strip_signs, longest) if key and key.lower() != DEFAULT_WORD)
        return sorted(stripped, key=lambda key: -len(split_words(key)))[:_MAX_KEYS]

    def _find_by_name(self, key: str) -> Setting | None:
        words = split_words(key)
        rows = self._find_rows(words)
        aliases = self._find_aliases(rows, words)
        key_text = fold_name("".join(words))
        values = [*self._iter_values(rows, words, 1.0)]
        for alias, file in aliases:
            of_file = [row for row in self._find_rows(alias) if file in (None, self._corpus.chunk_files[row])]
            values += self._iter_values(of_file, alias, _OF_ALIAS)
        for start in range(1, len(words) - _MIN_SUFFIX_WORDS + 1) if not values else ():
            values += self._iter_values(self._find_rows(words[start:]), words[start:], _OF_SUFFIX**start)
        values = [value for value in values if not any(has_key(name, key_text) for name in _NAMES.findall(value.value))]
        if not values and not rows:
            return None
        return self._build(key, [words, *(alias for alias, _ in aliases)], self._rank(values), rows)

    def _find_rows(self, words: Sequence[str]) -> list[int]:
        """Find the chunks that have a name in some convention, those of results first."""
        corpus = self._corpus
        rows: list[int] = corpus.find_chunks_with_terms(
            [tokenize_text(word)[0] for word in words if tokenize_text(word)]
        ).tolist()
        order = {row: rank for rank, row in enumerate(self._result_rows)}
        rows.sort(
            key=lambda row: (order.get(row, len(order)), -_ROLES[corpus.file_roles[corpus.chunk_files[row]]], row)
        )
        return rows[:_MAX_CHUNKS]

    def _find_aliases(self, rows: Sequence[int], words: Sequence[str]) -> list[tuple[list[str], int | None]]:
        """Find the constants and variables that a key is assigned or read to, such as ``PORT_KEY = "server.port"``.

        A variable only means it in its file.
        """
        wanted = fold_name("".join(words))
        aliases: dict[str, tuple[list[str], int | None]] = {}
        for row, value_line in self._iter_value_lines(rows):
            is_key = value_line.form == "assignment" and wanted in fold_name(value_line.value).replace(".", "")
            alias = (
                split_words(split_qualified(value_line.names[-1])[-1])
                if is_key and split_qualified(value_line.names[-1])
                else []
            )
            if (
                len(alias) > 1
                and set(alias) & set(words)
                and has_quote(value_line.value)
                and fold_name("".join(alias)) != wanted
            ):
                file = None if get_last_part(value_line.names[-1]).isupper() else int(self._corpus.chunk_files[row])
                aliases.setdefault("".join(alias), (alias, file))
        return list(aliases.values())[:_MAX_KEYS]

    def _iter_values(self, rows: Sequence[int], words: Sequence[str], factor: float) -> Iterator[SettingValue]:
        wanted = fold_name("".join(words))
        for row, value_line in self._iter_value_lines(rows):
            fits = [name for name in value_line.names if matches_key(name, wanted)]
            is_same = any(has_key(name, wanted) for name in _NAMES.findall(value_line.value))
            if fits and not is_same:
                yield self._build_value(row, value_line, fits[-1], factor)

    def _iter_value_lines(self, rows: Sequence[int]) -> Iterator[tuple[int, ValueLine]]:
        """Yield the values that chunks of code give, with their rows; tests, documents and hidden files give no defaults."""
        for row in rows:
            file = self._corpus.chunk_files[row]
            if self._corpus.file_roles[file] in ("test", "docs") or self._corpus.paths[file].startswith("."):
                continue
            if row not in self._value_lines:
                text = self._corpus.read_texts([row])[0].removesuffix("\n")
                self._value_lines[row] = list(find_value_lines(text.split("\n")))
            yield from ((row, value_line) for value_line in self._value_lines[row])

    # Settings in words

    def _find_by_words(self) -> Setting | None:
        idf = {term: weight for term, weight in self._term_idf.items() if weight > 0}
        used = [self._corpus.rows_by_id[value.chunk_id] for value in find_used_values(self._corpus, self._results)]
        rows = self._reader.rank_chunks(idf, _MAX_WORD_CHUNKS, self._result_rows)
        values = self._rank(self._iter_worded_values(list(dict.fromkeys([*self._result_rows, *used, *rows]))))
        if not values:
            return None
        words = split_words(values[0].name)
        return self._build(values[0].name, [words], values, self._find_rows(words))

    def _iter_worded_values(self, rows: Sequence[int]) -> Iterator[SettingValue]:
        """Yield the values whose names have words of the question, or that the best results name."""
        for row, value_line in self._iter_value_lines(rows):
            key_text = fold_name(value_line.value.strip("\"'"))
            if not value_line.is_literal or any(fold_name(name) == key_text for name in value_line.names):
                continue
            quality, name = max(
                (compute_word_share(name, self._term_idf) + self._rate_naming(name), name) for name in value_line.names
            )
            if (
                quality
                and (
                    quality := quality
                    + _OF_WORDS * compute_word_share(self._read_window(row, value_line.offset), self._term_idf)
                )
                >= _MIN_QUALITY
            ):
                yield self._build_value(row, value_line, name, quality)

    def _rate_naming(self, name: str) -> float:
        """Rate a name of several words by the first result that has it."""
        last = get_last_part(name).replace("-", "_")
        if len(set(split_words(last)) - {DEFAULT_WORD}) < _MIN_SUFFIX_WORDS:
            return 0.0
        ranks = (rank for rank, snippet in enumerate(self._results[:_MAX_NAMING], 1) if last in snippet.text)
        return _OF_NAMED / sqrt(next(ranks, inf))

    def _read_window(self, row: int, offset: int) -> str:
        lines = self._corpus.read_texts([row])[0].split("\n")
        return " ".join(lines[max(offset - _WINDOW, 0) : offset + _WINDOW + 1])

    # Values

    def _build_value(self, row: int, value_line: ValueLine, name: str, quality: float) -> SettingValue:
        corpus = self._corpus
        path = corpus.paths[corpus.chunk_files[row]]
        number = int(corpus.start_lines[row]) + value_line.offset
        lines = self._reader.read_line(path, number) or CitedLines(path, number, number, "")
        rank = self._result_rows.index(row) if row in self._result_rows else None
        around = self._corpus.get_value("qualified_name", row)
        is_default = DEFAULT_WORD in f"{name} {around}".lower()
        score: float = (
            quality
            * (1.0 if is_default else _FORMS[value_line.form])
            * (1.0 if value_line.is_literal else _COMPUTED if self._is_declared(path, number, value_line) else 0.0)
            * _ROLES[corpus.file_roles[corpus.chunk_files[row]]]
            * (
                1.0
                + (_OF_RESULTS / (1 + rank) if rank is not None else 0.0)
                + _OF_WORDS * compute_word_share(f"{around} {lines.text}", self._term_idf)
            )
        )
        value = SettingValue(name, value_line.value, lines, value_line.form, score, value_line.is_literal)
        return self._resolve_constant(value, value_line.constant) if value_line.constant else value

    def _is_declared(self, path: str, number: int, value_line: ValueLine) -> bool:
        """Return whether a computed value is that of a declaration rather than of a variable of a function."""
        around = self._reader.find_innermost(path, number)
        return bool(value_line.constant) or around is None or around.kind not in CALLABLE or number == around.start_line

    def _resolve_constant(self, value: SettingValue, constant: str) -> SettingValue:
        """Return a value with the line of the constant that it is, if one declaration in the same file or the only one is."""
        matches = [
            match
            for match in self._corpus.symbols.find(constant)
            if match.name == constant and match.kind in _CONSTANT_KINDS
        ]
        in_file = [match for match in matches if self._corpus.get_value("path", match.row) == value.lines.path]
        matches = in_file or matches
        if len(matches) != 1:
            return value
        path = self._corpus.get_value("path", matches[0].row)
        line = self._reader.read_line(path, matches[0].start_line)
        given = (
            next((value_line for value_line in find_value_lines([line.text]) if constant in value_line.names), None)
            if line
            else None
        )
        if given is None or line is None or line == value.lines:
            return value
        score = value.score if value.is_literal else value.score / _COMPUTED
        return replace(value, constant=line, constant_value=given.value, score=score, is_literal=True)

    def _rank(self, values: Iterable[SettingValue]) -> list[SettingValue]:
        """Return the best value, and those that other declarations give the same name in the same way."""
        ranked = sorted((value for value in values if value.score), key=lambda value: -value.score)
        if not ranked:
            return []
        best = ranked[0]
        alike = [
            value
            for value in ranked
            if get_last_part(value.name) == get_last_part(best.name)
            and (value.form, value.is_literal, value.lines.path) == (best.form, best.is_literal, best.lines.path)
            and value.score >= _NEARLY * best.score
        ]
        of_places = {
            self._reader.find_innermost(value.lines.path, value.lines.start_line): value for value in reversed(alike)
        }
        if len({value.value for value in of_places.values()}) == 1:
            return [best]
        chosen = sorted(of_places.values(), key=lambda value: -value.score)[:_MAX_VALUES]
        return sorted(chosen, key=lambda value: value.lines.start_line)

    # Lines that read, and documents

    def _build(
        self, key: str, spellings: Sequence[Sequence[str]], values: Sequence[SettingValue], rows: Sequence[int]
    ) -> Setting:
        constants = [split_words(get_last_part(value.value)) for value in values if value.constant]
        named = [split_words(get_last_part(value.name)) for value in values]
        words = [
            list(item) for item in dict.fromkeys(tuple(words) for words in [*spellings, *named, *constants] if words)
        ]
        every = dict.fromkeys([*rows, *(row for spelling in words[1:] for row in self._find_rows(spelling))])
        known = {value.lines for value in values} | {value.constant for value in values}
        lines = [line for line in self._lines.iter_mentions(list(every), words) if line not in known]
        readers = self._lines.choose_readers(lines, words)
        if not readers and values and values[0].form in ("argument", "fallback"):
            readers = [values[0].lines]
        return Setting(key, values, readers, self._lines.choose_documented(lines, spellings[0]))
