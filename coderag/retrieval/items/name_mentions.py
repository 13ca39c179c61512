"""Lines of items that have a name of the code, exactly as it is written."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import split_qualified
from coderag.text.tokenizer import expand_token

_MAX_LINE_CHARS: Final = 2_000
_MIN_NAME_CHARS: Final = 3


class NamedLine(NamedTuple):
    """The first line of a file that has a name: number of the file, line from 1, and its text."""

    file: int
    line: int
    text: str


def find_name_mentions(corpus: Corpus, name: str, allowed: NDArray[np.bool_]) -> Iterator[NamedLine]:
    """Find the files that have a name, each with its first line that does.

    A qualified name or one of several words may stand anywhere. A single word is a name only in backticks, before a
    parenthesis or beside a dot: elsewhere it may be prose.

    Args:
        corpus: Corpus of the mirrored files.
        name: Plain or qualified name.
        allowed: bool (n_files,), files to search.
    """
    if len(name.strip()) < _MIN_NAME_CHARS:
        return
    pattern = _compile_name(name.strip())
    rows = corpus.find_chunks_with_name_parts(name)
    seen: set[int] = set()
    for row, text in zip(rows.tolist(), corpus.read_texts(rows.tolist()), strict=True):
        file = int(corpus.chunk_files[row])
        if file in seen or not allowed[file]:
            continue
        for number, line in enumerate(text.split("\n"), int(corpus.start_lines[row])):
            if pattern.search(line[:_MAX_LINE_CHARS]):
                seen.add(file)
                yield NamedLine(file, number, line)
                break


def _compile_name(name: str) -> re.Pattern[str]:
    exact = rf"(?<!\w){re.escape(name)}(?!\w)"
    is_distinctive = len(split_qualified(name)) > 1 or len(expand_token(name)) > 1
    if is_distinctive:
        return re.compile(exact)
    escaped = re.escape(name)
    return re.compile(rf"`[^`]*{exact}[^`]*`|(?<!\w){escaped}\(|(?<!\w){escaped}(?:\.|::)\w|\w(?:\.|::){escaped}(?!\w)")
