"""How many tokens a text has, in the encoding that llama-index-core carries: an estimate, and the exact number.

Counting exactly costs 60 ns a byte, more than parsing does; so the estimate decides wherever it is not close to a limit.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_ENCODING = "cl100k_base"  # what llama_index.core.utils.get_tokenizer uses
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_SPACE = b" \t\r\n\f\v"
_BEYOND_ASCII = bytes(range(128, 256))
# Least squares of the relative error over 2,942 pieces of up to 2,500 bytes from 21 repositories in 16 languages.
_PER_LETTER, _PER_DIGIT, _PER_SIGN, _PER_BYTE_BEYOND_ASCII, _PER_WORD = 0.148, 0.779, 0.642, 0.288, 0.534

TOLERANCE: Final = 0.25
"""How far an estimate is from the exact number at most, for 99 % of pieces of code; its standard error is 9 %."""


def estimate_tokens(text: bytes) -> int:
    """Return about how many tokens a UTF-8 text has (see `TOLERANCE`)."""
    without_letters = text.translate(None, _LETTERS)
    without_digits = without_letters.translate(None, _DIGITS)
    signs = without_digits.translate(None, _SPACE)
    ascii_signs = len(signs) if signs.isascii() else len(signs.translate(None, _BEYOND_ASCII))
    return round(
        _PER_LETTER * (len(text) - len(without_letters))
        + _PER_DIGIT * (len(without_letters) - len(without_digits))
        + _PER_SIGN * ascii_signs
        + _PER_BYTE_BEYOND_ASCII * (len(signs) - ascii_signs)
        + _PER_WORD * len(text.split())
    )


def exceeds(text: bytes, max_tokens: int) -> bool:
    """Return whether a text has more tokens than ``max_tokens``; counted exactly where the estimate is close to it."""
    if len(text) <= max_tokens:
        return False  # a token is at least a byte
    estimate = estimate_tokens(text)
    if abs(estimate - max_tokens) > TOLERANCE * max_tokens:
        return estimate > max_tokens
    return count_tokens(text.decode("utf-8", "replace")) > max_tokens


def count_tokens(text: str) -> int:
    """Return how many tokens a text has."""
    return len(_encoder()(text))


@cache
def _encoder() -> Callable[[str], list[int]]:
    """Load the encoding from llama-index-core's files without importing llama-index-core, which takes two seconds."""
    import tiktoken  # noqa: PLC0415  # 0.2 s that a run without long declarations need not spend

    package = find_spec("llama_index.core")
    if package is None or not package.origin:
        return tiktoken.get_encoding(_ENCODING).encode_ordinary
    earlier = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(package.origin).parent / "_static" / "tiktoken_cache")
    try:
        return tiktoken.get_encoding(_ENCODING).encode_ordinary
    finally:
        if earlier is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = earlier
