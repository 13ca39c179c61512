"""Truncation of texts to a model's window, counted with its tokenizer where that is known."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra
from coderag.text.token_counts import count_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TEXT_TOKENS = 8_000
"""Default window: nomic-embed-text and OpenAI's models read at most 8,192 tokens, special tokens included."""

_MAX_TOKEN_CHARS = 32  # tokens of relevant text are shorter on average


class TextWindow(Protocol):
    """Limit of the text that a model reads."""

    def cut(self, text: str) -> str:
        """Truncate a text to the window."""
        ...


class CountedWindow:
    """A window in tokens of OpenAI's embedding models; an estimate for other models."""

    def __init__(self, max_tokens: int = MAX_TEXT_TOKENS) -> None:
        self._max_tokens = max_tokens

    def cut(self, text: str) -> str:
        """Truncate a text to the window."""
        text = text[: _MAX_TOKEN_CHARS * self._max_tokens]
        if len(text.encode()) <= self._max_tokens:
            return text  # a token has at least one byte
        while (tokens := count_tokens(text)) > self._max_tokens:
            text = text[: int(0.98 * len(text) * self._max_tokens / tokens)]
        return text


class TokenizerWindow:
    """A window in tokens of a model's own ``tokenizer.json``, special tokens included.

    Args:
        path: The file; it is read when the first long text is truncated.

    Raises:
        ConfigurationError: The file is missing or not a tokenizer, or the package ``tokenizers`` is missing.
    """

    def __init__(self, path: Path, max_tokens: int = MAX_TEXT_TOKENS) -> None:
        if not path.is_file():
            message = f"embedding.tokenizer is {path}, which is not a file"
            raise ConfigurationError(message, hint="Give the full path of the model's tokenizer.json, or remove it.")
        require_extra("tokenizers", "tokenizer", "embedding.tokenizer")
        self._path = path
        self._max_tokens = max_tokens

    def cut(self, text: str) -> str:
        """Truncate a text to the window."""
        text = text[: _MAX_TOKEN_CHARS * self._max_tokens]
        max_text_tokens = max(1, self._max_tokens - self._tokenizer.num_special_tokens_to_add(is_pair=False))
        if len(text.encode()) <= max_text_tokens:
            return text
        while len(ends := self._find_token_ends(text)) > max_text_tokens:
            text = text[: min(ends[max_text_tokens - 1], len(text) - 1)]  # a cut may change the last tokens
        return text

    def _find_token_ends(self, text: str) -> list[int]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return [end for _, end in encoding.offsets]

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer  # noqa: PLC0415  # an extra

        try:
            tokenizer = Tokenizer.from_file(str(self._path))
        except Exception as error:  # the package raises plain exceptions
            message = f"embedding.tokenizer is {self._path}, which cannot be read as a tokenizer: {error}"
            raise ConfigurationError(message, hint="It is the file tokenizer.json of the model.") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
