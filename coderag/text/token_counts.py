"""How many tokens a text has, in the encoding that llama-index-core carries: an estimate, and the exact number.

Counting exactly costs 60 ns a byte, half of what parsing does; so the estimate decides wherever it is not close to a
limit.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final

_ENCODING = "cl100k_base"  # what llama_index.core.utils.get_tokenizer uses
_NON_SIGNS = bytes(
    byte for byte in range(256) if byte >= 128 or chr(byte).isalpha() or chr(byte) in " \t\r\n\f\v"
)  # letters, space and what is beyond ASCII; digits count as signs
# Least squares of the relative error over 2,942 pieces of up to 2,500 bytes from 21 repositories in 16 languages.
_PER_BYTE, _PER_SIGN, _PER_SPACE, _PER_NEWLINE, _PER_INDENTATION = 0.127, 0.484, 0.355, 0.865, -0.869

_MAX_PART_BYTES = 1 << 12  # bytes; the encoder takes time quadratic in the length of a run of letters

ESTIMATE_TOLERANCE: Final = 0.3
"""How far an estimate is from the exact number at most, for 99 % of pieces of code; its standard error is 8 %."""


def estimate_tokens(text: bytes) -> int:
    """Return about how many tokens a UTF-8 text has (see `ESTIMATE_TOLERANCE`)."""
    tokens = (
        _PER_BYTE * len(text)
        + _PER_SIGN * len(text.translate(None, _NON_SIGNS))
        + _PER_SPACE * text.count(b" ")
        + _PER_NEWLINE * text.count(b"\n")
        + _PER_INDENTATION * text.count(b"  ")
    )
    return max(1, round(tokens)) if text else 0


def is_over_limit(text: bytes, max_tokens: int, estimate: int = 0) -> bool:
    """Return whether a text has more tokens than ``max_tokens``; counted exactly where the estimate is close to it.

    Args:
        estimate: What `estimate_tokens` says of the text, if that is known.
    """
    if len(text) <= max_tokens:
        return False  # a token is at least a byte
    estimate = estimate or estimate_tokens(text)
    if abs(estimate - max_tokens) > ESTIMATE_TOLERANCE * max_tokens:
        return estimate > max_tokens
    return count_tokens(text.decode("utf-8", "replace")) > max_tokens


def count_tokens(text: str) -> int:
    """Return how many tokens a text has."""
    return len(_load_encoder()(text))


def sum_line_tokens(data: bytes, starts: Sequence[int]) -> list[int]:
    """Return how many tokens are above each line, counted line by line; the last entry is the number of all.

    No less than the tokens of the same lines counted together.

    Args:
        starts: Where each line begins; the last entry is the length of the text.
    """
    encode = _load_encoder()
    totals = [0]
    for start, end in pairwise(starts):
        parts = (data[low : min(low + _MAX_PART_BYTES, end)] for low in range(start, end, _MAX_PART_BYTES))
        totals.append(totals[-1] + sum(len(encode(part.decode("utf-8", "replace"))) for part in parts))
    return totals


@cache
def _load_encoder() -> Callable[[str], list[int]]:
    """Load the encoding from llama-index-core's files without importing llama-index-core, which takes two seconds."""
    import tiktoken  # noqa: PLC0415  # 0.2 s that a run without long declarations need not spend

    package = find_spec("llama_index.core")
    if package is None or not package.origin:
        return tiktoken.get_encoding(_ENCODING).encode_ordinary
    previous = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(package.origin).parent / "_static" / "tiktoken_cache")
    try:
        return tiktoken.get_encoding(_ENCODING).encode_ordinary
    finally:
        if previous is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = previous
