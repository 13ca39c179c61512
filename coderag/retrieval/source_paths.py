"""Which files an answer of the query graph stands on: those whose lines it shows or names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from coderag.stores.corpus import Corpus

_PATH_WITH_LINE: Final = re.compile(r"[`(\s\"']([^`()\s\"':]+):\d")
"""``path:12`` in a text. A path with a blank is not found so; what shows its lines names it otherwise, too."""


def source_paths(corpus: Corpus, output: Mapping[str, Any]) -> set[str]:
    """Return the paths of the files whose lines an output shows or names; others may be among them that only look like one.

    Args:
        corpus: The open index that it was made from.
        output: Of the query graph, as far as it has come.
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
    """Yield the files of the code that a context shows, names in its map, or says that it left out."""
    yield from (omission["path"] for omission in context["omitted"])
    for section in context["sections"]:
        for item in section["items"]:
            yield item["path"]
            if section["name"] == "graph":
                yield from _PATH_WITH_LINE.findall(item["text"])
