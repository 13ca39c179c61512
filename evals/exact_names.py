"""Rank of exact names: how often a name that stands in one file comes first, by spelling convention.

``python -m evals.exact_names REPO [REPO ...]`` prints one row for each repository, which must be indexed. Names are sampled
with a fixed seed from the indexed files themselves, so that the figures of two versions compare.
"""

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from coderag import CodeRAG
from coderag.schema.search import SearchHits
from coderag.stores.corpus import Corpus

SEED: Final = 25
NAMES_PER_CONVENTION: Final = 80
MAX_FUNCTIONS: Final = 120
MAX_RESPELT: Final = 60

CONVENTIONS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "kebab": re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w-])"),
        "snake": re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w-])"),
        "screaming": re.compile(r"(?<![\w-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w-])"),
    }
)
_FUNCTION_KINDS: Final = frozenset({"function", "method"})
_WORD: Final = re.compile(r"[a-z]{4,}")
_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SPELLINGS: Final[tuple[Callable[[list[str]], str], ...]] = (
    "_".join,
    "-".join,
    lambda parts: "_".join(parts).upper(),
    lambda parts: parts[0] + "".join(map(str.capitalize, parts[1:])),
    lambda parts: "".join(map(str.capitalize, parts)),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--misses", action="store_true", help="Print the names that do not come first.")
    arguments = parser.parse_args()
    for root in arguments.repositories:
        print(root.name)
        for label, count, first, among_ten, misses in measure(root):
            print(f"  {label:<10} {count:>4} names, first {first:>4}, among ten {among_ten:>4}")
            if arguments.misses:
                print(*(f"      {name}" for name in misses), sep="\n")


def measure(root: Path) -> Iterator[tuple[str, int, int, int, list[str]]]:
    """Yield each kind of name with the number of names, of those found first, of those found among ten, and misses."""
    rag = CodeRAG(root)
    corpus = rag.build_chat_context().query.corpus
    for convention, pattern in CONVENTIONS.items():
        names = _sample(_find_names_of_one_file(corpus, pattern), NAMES_PER_CONVENTION)
        yield convention, *_count(rag, [(name, name) for name in names], _has_text)
    declared = _list_unique_declarations(corpus)
    words = [name for name, kind in declared.items() if kind in _FUNCTION_KINDS and _WORD.fullmatch(name)]
    yield "one word", *_count(rag, [(name, name) for name in _sample(words, MAX_FUNCTIONS)], _has_declaration)
    compounds = _sample([name for name in declared if len(_PART.findall(name)) > 1], MAX_RESPELT)
    yield "respelt", *_count(rag, [(_convert_spelling(name), name) for name in compounds], _has_declaration)


def _count(
    rag: CodeRAG, queries: Sequence[tuple[str, str]], answers: Callable[[SearchHits, int, str], bool]
) -> tuple[int, int, int, list[str]]:
    first, among_ten, misses = 0, 0, []
    for query, name in queries:
        hits = rag.search(query, top_k=10)
        is_first = answers(hits, 1, name)
        first += is_first
        among_ten += answers(hits, 10, name)
        if not is_first:
            misses.append(f"{query} ({hits.evidence})")
    return len(queries), first, among_ten, misses


def _has_text(hits: SearchHits, count: int, name: str) -> bool:
    return any(name in hit.text for hit in hits[:count])


def _has_declaration(hits: SearchHits, count: int, name: str) -> bool:
    return any(hit.name == name for hit in hits[:count])


def _find_names_of_one_file(corpus: Corpus, pattern: re.Pattern[str]) -> list[str]:
    files: defaultdict[str, set[int]] = defaultdict(set)
    texts = corpus.read_texts(range(corpus.n_chunks))
    for file, text in zip(corpus.chunk_files.tolist(), texts, strict=True):
        for match in pattern.finditer(text):
            files[match[0]].add(file)
    return [name for name, holders in files.items() if len(holders) == 1]


def _list_unique_declarations(corpus: Corpus) -> dict[str, str]:
    """Return the names of code that are declared once in any spelling, with their kinds."""
    kinds: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for symbols in corpus.chunk_symbols:
        for symbol in symbols:
            if symbol["name"].isidentifier() and symbol["name"].isascii():
                counts["".join(_PART.findall(symbol["name"])).lower()] += 1
                kinds[symbol["name"]] = symbol["kind"]
    return {
        name: kind for name, kind in kinds.items() if counts["".join(_PART.findall(name)).lower()] == 1
        and kind not in ("key", "section", "rule")
    }  # fmt: skip


def _convert_spelling(name: str) -> str:
    """Return a name in another convention, chosen by its length."""
    parts = [part.lower() for part in _PART.findall(name)]
    spellings = [spelling for spell in _SPELLINGS if (spelling := spell(parts)) != name]
    return spellings[len(name) % len(spellings)]


def _sample(names: Sequence[str], count: int) -> list[str]:
    ordered = sorted(names)
    return random.Random(SEED).sample(ordered, min(count, len(ordered)))


if __name__ == "__main__":
    main()
