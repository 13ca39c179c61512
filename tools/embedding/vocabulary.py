"""Count a corpus's terms and choose the vocabulary: the terms of ``coderag.tokens`` that occur in most files.

A term's *surface form* is how it is spelled most often, in parts: ``parsing`` for the stem ``pars``, ``get user id``
for the whole identifier ``=getuserid``. It is what a sentence encoder is shown (distil.py). Written is a table:
the first line holds the number of files, each further one ``term, document frequency, surface form``, most frequent
first.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from coderag.tokens import expand, raw_tokens, split_identifier, stem, whole_term

_RAREST_PART = 3
_RAREST_WHOLE = 10
_RAREST_NUMBER = 20
_LONGEST_SURFACE = 40
_CHUNK_FILES = 400

FormCounts = dict[str, Counter[str]]


class Entry(NamedTuple):
    """A term of the vocabulary."""

    term: str
    document_frequency: int
    surface: str


def surface_forms(raw: str) -> Iterator[tuple[str, str]]:
    """Yield each term of a raw token with the spelling that the token gives it."""
    parts = split_identifier(raw)
    for part in parts:
        yield stem(part), part
    if len(parts) > 1 and len(raw) <= _LONGEST_SURFACE:
        yield whole_term(raw), " ".join(parts)


def count_files(paths: list[Path]) -> tuple[Counter[str], FormCounts]:
    """Count the files that have a term, and how often a distinct raw token of a file spells it in each way."""
    frequencies: Counter[str] = Counter()
    forms: FormCounts = defaultdict(Counter)
    for path in paths:
        distinct = set(raw_tokens(path.read_text("utf-8", "replace")))
        frequencies.update({term for raw in distinct for term in expand(raw)})
        for raw in distinct:
            for term, form in surface_forms(raw):
                forms[term][form] += 1
    return frequencies, dict(forms)


def choose_vocabulary(frequencies: Counter[str], forms: FormCounts, *, size: int) -> list[Entry]:
    """Return the most frequent terms, most frequent first; whole identifiers and numbers must be commoner than words.

    Terms outside ASCII are left out: the encoder knows English, and gives all words of other scripts the same vector.
    """
    entries = []
    for term, frequency in frequencies.items():
        rarest = _RAREST_NUMBER if term.isdigit() else _RAREST_WHOLE if term.startswith("=") else _RAREST_PART
        if frequency >= rarest and term in forms and term.isascii():
            surface = min(forms[term].items(), key=lambda item: (-item[1], item[0]))[0]
            entries.append(Entry(term, frequency, surface))
    return sorted(entries, key=lambda entry: (-entry.document_frequency, entry.term))[:size]


def write_vocabulary(path: Path, entries: Iterable[Entry], *, n_files: int) -> None:
    """Write the vocabulary table."""
    rows = [f"{entry.term}\t{entry.document_frequency}\t{entry.surface}" for entry in entries]
    path.write_text("\n".join([str(n_files), *rows]) + "\n", "utf-8")


def read_vocabulary(path: Path) -> tuple[int, list[Entry]]:
    """Return the number of files counted and the vocabulary, most frequent term first."""
    first, *rows = path.read_text("utf-8").rstrip("\n").split("\n")
    fields = (row.split("\t") for row in rows)
    return int(first), [Entry(term, int(frequency), surface) for term, frequency, surface in fields]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder that collect.py wrote")
    parser.add_argument("output", type=Path, help="table to write")
    parser.add_argument("--size", type=int, default=60_000, help="number of terms")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()

    files = sorted(path for path in (arguments.corpus / "source").rglob("*") if path.is_file())
    batches = [files[start : start + _CHUNK_FILES] for start in range(0, len(files), _CHUNK_FILES)]
    frequencies: Counter[str] = Counter()
    forms: FormCounts = defaultdict(Counter)
    with Pool(arguments.processes) as pool:
        for batch_frequencies, batch_forms in pool.imap(count_files, batches):
            frequencies.update(batch_frequencies)
            for term, counts in batch_forms.items():
                forms[term].update(counts)
    entries = choose_vocabulary(frequencies, forms, size=arguments.size)
    write_vocabulary(arguments.output, entries, n_files=len(files))
    n_whole = sum(entry.term.startswith("=") for entry in entries)
    print(
        f"{len(files)} files, {len(frequencies)} terms; kept {len(entries)}, {n_whole} of them whole identifiers; ",
        end="",
    )
    print(f"the rarest is in {entries[-1].document_frequency} files")


if __name__ == "__main__":
    main()
