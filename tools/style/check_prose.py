"""Check the prose that users read: documents, changelog and the output of ``--help``.

    python tools/style/check_prose.py [--help-output] [FILE ...]

A sentence has at most 25 words and uses the words of docs/glossary.md. Code, tables and headings are not sentences; the words
of the glossary bind them, too. ``--help-output`` checks the help of every command as well, which takes some seconds.
"""

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads(Path(__file__).with_name("prose.toml").read_text(encoding="utf-8"))
MAX_SENTENCE_WORDS = 25
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "evals/**/*.md", "examples/**/*.md")

_BANNED = [(re.compile(rf"\b{pattern}\b", re.IGNORECASE), advice) for pattern, advice in RULES["banned"].items()]
_SENTENCE_END = re.compile(r"(?<=[.!?:])[\"”)*_]*\s+(?=[\w\"“(*`])")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_CODE = "code"


class Fault(NamedTuple):
    """A sentence against a rule; lines count from 1."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def check_markdown(path: str, text: str) -> Iterator[Fault]:
    """Yield the faults of a document, paragraph by paragraph."""
    is_sentence = True
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in {"heading_open", "th_open", "td_open"}:
            is_sentence = False
        elif token.type in {"heading_close", "th_close", "td_close"}:
            is_sentence = True
        elif token.type == "inline":
            line = (token.map or [0])[0] + 1
            yield from check_text(path, line, _extract_text(token), is_sentence=is_sentence)


def check_text(path: str, line: int, text: str, *, is_sentence: bool = True) -> Iterator[Fault]:
    """Yield the faults of one paragraph.

    Args:
        path: Where it stands.
        line: Its first line, from 1.
        text: Its words, without markup and code.
        is_sentence: Whether its length counts.
    """
    for pattern, advice in _BANNED:
        if match := pattern.search(text):
            yield Fault(path, line, f"{match[0]!r}: {advice}")
    if not is_sentence:
        return
    for sentence in _SENTENCE_END.split(text):
        n_words = len(_WORD.findall(sentence))
        if n_words > MAX_SENTENCE_WORDS:
            yield Fault(path, line, f"sentence of {n_words} words, at most {MAX_SENTENCE_WORDS}: {sentence[:60]!r}…")


def check_help() -> Iterator[Fault]:
    """Yield the faults of the help of every command."""
    from typer.main import get_command  # noqa: PLC0415

    from coderag.interfaces.cli.main import app  # noqa: PLC0415

    pending = [("coderag", get_command(app))]
    while pending:
        name, command = pending.pop()
        pending += [(f"{name} {child}", value) for child, value in getattr(command, "commands", {}).items()]
        texts = [command.help or "", *(getattr(parameter, "help", "") or "" for parameter in command.params)]
        for text in texts:
            for paragraph in text.split("\n\n"):
                yield from check_text(
                    f"{name} --help", 1, re.sub(r"`[^`]*`|'[^']*'", _CODE, paragraph.replace("\n", " "))
                )


def _extract_text(token: Token) -> str:
    """Return the text of a paragraph with every piece of code as one word."""
    words = {"code_inline": _CODE, "softbreak": " ", "hardbreak": ". "}
    return "".join(words.get(child.type, child.content) for child in token.children or [])


def main(arguments: list[str]) -> int:
    """Check the files given, by default all documents; return the exit code."""
    os.chdir(ROOT)
    with_help = "--help-output" in arguments
    named = [Path(argument) for argument in arguments if not argument.startswith("--")]
    files = named or sorted({file for pattern in DOCUMENTS for file in Path().glob(pattern)})
    exempt = tuple(RULES["exempt"])
    faults = [
        fault
        for file in files
        if not file.as_posix().startswith(exempt) or file in named
        for fault in check_markdown(file.as_posix(), file.read_text(encoding="utf-8"))
    ]
    faults += check_help() if with_help else []
    for fault in faults:
        print(fault)
    if faults:
        print(f"{len(faults)} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
