"""What a question must be to be searched for. Light to load: it is checked before an index is opened."""

import shlex

from coderag.errors import InvalidQueryError
from coderag.question.literals import parse_literal_query
from coderag.text.tokenizer import tokenize_query

MAX_QUERY_BYTES = 64_000
"""A longer question is a file: its terms would match everything."""


def check_length(query: str) -> None:
    """Raise `InvalidQueryError` if a question is no text, empty or too long."""
    if not isinstance(query, str):
        raise InvalidQueryError(f"the question is of type {type(query).__name__}, not text")
    if not query.strip():
        raise InvalidQueryError("the question is empty", hint="Ask for a name, a behaviour or a place in the code.")
    size = len(query.encode("utf-8", "replace"))
    if size > MAX_QUERY_BYTES:
        raise InvalidQueryError(
            f"the question has {size:,} bytes; the limit is {MAX_QUERY_BYTES:,}",
            hint="Ask about the part that matters, or search for a snippet of it.",
        )


def check_question(query: str) -> None:
    """Raise `InvalidQueryError` if a question is empty or too long, or has neither words nor an operator to search for."""
    check_length(query)
    if not tokenize_query(query) and not parse_literal_query(query):
        text = query.strip()[:40]
        raise InvalidQueryError(
            f"the question {text!r} has no words to search for",
            hint=f"Name something in the code, or list every occurrence: coderag search --exact -- {shlex.quote(text)}",
        )
