"""Texts that explode in regular expressions: questions and files are read in a time that grows with their length."""

import time

import pytest

from coderag.answering.hidden_text import deobfuscate, reveal_hidden, strip_hidden
from coderag.errors import InvalidQueryError
from coderag.models.redaction.redactor import get_redactor
from coderag.question.analysis import analyze
from coderag.question.entities import find_entities
from coderag.question.reports import is_report, take_apart
from coderag.text.secret_values import remove_values

CHARS = 30_000
BUDGET_S = 4  # of CPU time; what explodes takes minutes
SEEDS = [
    "(", "a.", "@a", " ", '"', "\\", "`", "a", "A", "1", "a=", "a/", "-", "_a", "a:", "\n", " \n", "<", "[", "{", "key=",
    'File "a.py", line 1, in f\n', "at a.b(c.py:1)\n", "..", "http://", "/src/a", "#", "*", "**a", "aB", "的", "\t",
    "a = ", "|", "a,", "${", "%", ";a", "'a ", "a1_", "-----BEGIN ", "a-", "é", "a\u0301", "\u200b", "\r", "![](", "<img ",
    "<!--", "[a](", "&lt;", "= ", "\x1b[", "Error: ", "~", ">>> ",
]  # fmt: skip
READERS = {
    "question": analyze,
    "names": find_entities,
    "report": is_report,
    "parts": take_apart,
    "hidden": lambda text: (deobfuscate(text), reveal_hidden(text), strip_hidden(text)),
    "secrets": lambda text: get_redactor().redact(text),
    "environment": lambda text: remove_values(".env", text),
    "settings": lambda text: remove_values("secrets.json", text),
    "markup": lambda text: remove_values("secrets.xml", f"<a>{text}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
def test_hostile_text_is_read_in_linear_time(read) -> None:
    for seed in SEEDS:
        for text in ((seed * CHARS)[:CHARS], "x" + (seed * CHARS)[:CHARS] + "!", f"# a\n{(seed * CHARS)[:CHARS]}\nb"):
            start = time.process_time()
            try:
                read(text)
            except InvalidQueryError:
                continue
            assert time.process_time() - start < BUDGET_S, seed
