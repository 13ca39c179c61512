"""Count a corpus's terms and choose the vocabulary: the terms of ``coderag.text.tokenizer`` that occur in most packages.

Terms are ranked by packages, not files, because a name that one large project repeats helps no other repository.
A term's *surface form* is its most frequent spelling, in parts: ``parsing`` for the stem ``pars``, ``get user id`` for the
whole identifier ``=getuserid``. distil.py passes it to the sentence encoder. The output is a table: the first line holds
the number of files, each further line ``term, files that have it, surface form``, in descending order of packages.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from coderag.text.tokenizer import expand_token, make_compound_term, split_identifier, split_raw_tokens, stem

_MIN_PART_PACKAGES = 3  # packages
_MIN_WHOLE_PACKAGES = 4
_MIN_NUMBER_PACKAGES = 10
_MAX_SURFACE_CHARS = 40

FormCounts = dict[str, Counter[str]]


class Entry(NamedTuple):
    """Term of the vocabulary."""

    term: str
    document_frequency: int
    surface: str


def iter_surface_forms(raw: str) -> Iterator[tuple[str, str]]:
    """Yield each term of a raw token with its spelling in the token."""
    parts = split_identifier(raw)
    for part in parts:
        yield stem(part), part
    if len(parts) > 1 and len(raw) <= _MAX_SURFACE_CHARS:
        yield make_compound_term(raw), " ".join(parts)


def count_package(folder: Path) -> tuple[Counter[str], FormCounts]:
    """Count the files of a package with each term, and the spellings of each term by distinct raw tokens of files."""
    frequencies: Counter[str] = Counter()
    forms: FormCounts = defaultdict(Counter)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        distinct = set(split_raw_tokens(path.read_text("utf-8", "replace")))
        frequencies.update({term for raw in distinct for term in expand_token(raw)})
        for raw in distinct:
            for term, form in iter_surface_forms(raw):
                forms[term][form] += 1
    return frequencies, dict(forms)


def choose_vocabulary(
    packages: Counter[str], frequencies: Counter[str], forms: FormCounts, *, size: int
) -> list[Entry]:
    """Return the terms of most packages, in that order; whole identifiers and numbers have higher minimums than words.

    Args:
        packages: Number of packages with each term.
        frequencies: Number of files with each term.
        forms: Spellings of each term.
        size: Maximum number of terms.

    Terms outside ASCII are left out: the encoder knows English and gives all words of other scripts the same vector.
    """
    entries = []
    for term, n_packages in packages.items():
        min_packages = (
            _MIN_NUMBER_PACKAGES
            if term.isdigit()
            else _MIN_WHOLE_PACKAGES
            if term.startswith("=")
            else _MIN_PART_PACKAGES
        )
        if n_packages >= min_packages and term in forms and term.isascii():
            surface = min(forms[term].items(), key=lambda item: (-item[1], item[0]))[0]
            entries.append(Entry(term, frequencies[term], surface))
    return sorted(entries, key=lambda entry: (-packages[entry.term], -entry.document_frequency, entry.term))[:size]


def write_vocabulary(path: Path, entries: Iterable[Entry], *, n_files: int) -> None:
    """Write the vocabulary table."""
    rows = [f"{entry.term}\t{entry.document_frequency}\t{entry.surface}" for entry in entries]
    path.write_text("\n".join([str(n_files), *rows]) + "\n", "utf-8")


def read_vocabulary(path: Path) -> tuple[int, list[Entry]]:
    """Return the number of counted files and the vocabulary, the most frequent term first."""
    first, *rows = path.read_text("utf-8").rstrip("\n").split("\n")
    fields = (row.split("\t") for row in rows)
    return int(first), [Entry(term, int(frequency), surface) for term, frequency, surface in fields]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder that collect.py wrote")
    parser.add_argument("output", type=Path, help="table to write")
    parser.add_argument("--size", type=int, default=62_000, help="number of terms")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()

    folders = sorted(path for path in (arguments.corpus / "source").glob("*/*") if path.is_dir())
    n_files = sum(path.is_file() for folder in folders for path in folder.rglob("*"))
    packages: Counter[str] = Counter()
    frequencies: Counter[str] = Counter()
    forms: FormCounts = defaultdict(Counter)
    with Pool(arguments.processes) as pool:
        for package_frequencies, package_forms in pool.imap(count_package, folders):
            packages.update(package_frequencies.keys())
            frequencies.update(package_frequencies)
            for term, counts in package_forms.items():
                forms[term].update(counts)
    entries = choose_vocabulary(packages, frequencies, forms, size=arguments.size)
    write_vocabulary(arguments.output, entries, n_files=n_files)
    n_whole = sum(entry.term.startswith("=") for entry in entries)
    print(f"{n_files} files of {len(folders)} packages, {len(frequencies)} terms; ", end="")
    rarest = packages[entries[-1].term]
    print(f"kept {len(entries)}, {n_whole} of them whole identifiers; the rarest is in {rarest} packages")


if __name__ == "__main__":
    main()
