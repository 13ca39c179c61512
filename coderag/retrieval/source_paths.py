"""Paths of the files that an output of the query graph is based on."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from coderag.stores.corpus import Corpus

_PATH_WITH_LINE: Final = re.compile(r"[`(\s\"']([^`()\s\"':]+):\d")
"""``path:12`` in a text. It misses paths with blanks, but those are also listed elsewhere in an output."""


def source_paths(corpus: Corpus, output: Mapping[str, Any]) -> set[str]:
    """Return the paths of files whose lines an output shows or names; some may only look like paths.

    Args:
        corpus: Corpus of the output.
        output: Output of the query graph, possibly partial.
    """
    chunks = [*output.get("results", ()), *output.get("related", ())]
    paths = {corpus.get_value("path", corpus.rows_by_id[chunk["chunk_id"]]) for chunk in chunks}
    paths.update(location.rpartition(":")[0] for chunk in chunks for location in chunk.get("duplicates", ()))
    if context := output.get("context"):
        paths.update(_iter_context_paths(context))
    if answer := output.get("answer"):
        paths.update(citation["path"] for citation in answer["citations"])
        paths.update(_PATH_WITH_LINE.findall(answer["text"]))
    return paths


def _iter_context_paths(context: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of a context: shown, named in its map, or omitted."""
    yield from (omission["path"] for omission in context["omitted"])
    for section in context["sections"]:
        for item in section["items"]:
            yield item["path"]
            if section["name"] == "graph":
                yield from _PATH_WITH_LINE.findall(item["text"])
