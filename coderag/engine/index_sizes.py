"""Disk space of an index folder by part."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.schema.statistics import SizePart
from coderag.stores.pointer import FORMAT_DIRECTORY, Pointer

_TABLES: Final = {
    "chunks": "vectors and texts",
    "files": "file records",
    "nodes": "code graph",
    "edges": "code graph",
    "facts": "code graph",
}
_ARRAYS: Final = "keyword search"
_EARLIER: Final = "earlier generations"
_OTHER: Final = "other"
_CHATS: Final = "conversations"
_PARTS: Final = {
    "cache": "cache of parsed files",
    "lineage": "commits and their declarations",
    "views": "layouts and projections",
    "sessions": "sessions of agents",
    "prompts": "own prompts",
    "chat-locks": _CHATS,
}
_GENERATION_FILES: Final = {"manifest.json": "file records"}
_FILES: Final = {
    "queries.jsonl": "recent queries",
    "queries.1.jsonl": "recent queries",
    "returned.jsonl": "counts of results",
}


def measure_index(directory: Path, pointer: Pointer) -> Sequence[SizePart]:
    """Measure the parts of an index folder, largest first. Files that vanish meanwhile are left out."""
    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, size in _walk(directory, ""):
        total = sizes[_name_part(name, pointer)]
        total[0] += size
        total[1] += 1
    parts = [SizePart(name, *total) for name, total in sizes.items()]
    return sorted(parts, key=lambda part: (-part.bytes, part.name))


def _walk(directory: Path, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the files of a folder with their sizes, without following links."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
                elif entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}", entry.stat(follow_symlinks=False).st_size


def _name_part(name: str, pointer: Pointer) -> str:
    top, _, rest = name.partition("/")
    if top == FORMAT_DIRECTORY and rest:
        return _name_generation_part(rest, pointer)
    if rest:
        return _PARTS.get(top, _OTHER)
    return _CHATS if top.startswith("chat.sqlite") else _FILES.get(top, _OTHER)


def _name_generation_part(name: str, pointer: Pointer) -> str:
    if pointer.contents and name not in pointer.contents:
        return _GENERATION_FILES.get(name, _EARLIER if "/" in name else _OTHER)
    top, _, rest = name.partition("/")
    if top == "lance":
        return _TABLES.get(rest.partition(".lance/")[0], _OTHER)
    return _ARRAYS if top == pointer.lexical else _GENERATION_FILES.get(name, _OTHER)
