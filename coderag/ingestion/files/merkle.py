"""A Merkle tree over files by folder: two states of a repository are compared where they differ, and nowhere else.

A folder's digest is that of its entries, sorted; each entry is a kind, the length of the name, the name and the digest
below it, so that no two lists of entries have the same bytes. Nothing here recurses: folders nest as deep as they like.

Source: Merkle, "A Digital Signature Based on a Conventional Encryption Function", 1987. Digests are BLAKE2b (RFC 7693)
of 128 bits: they tell changes apart, and protect nothing.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

_DIGEST_BYTES = 16
_RECORD_VERSION = 1
_FILE, _FOLDER, _TEXT, _BYTES = b"f", b"d", b"t", b"b"


@dataclass(slots=True)
class Differences:
    """What the files of one tree are to those of another; paths sorted.

    Attributes:
        visited: Number of folders that were entered to find out.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    visited: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(slots=True)
class _Folder:
    """The digests of a folder's files and the folders in it, by name."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, "_Folder"] = field(default_factory=dict)
    digest: bytes = b""


_NOTHING = _Folder()


class MerkleTree:
    """The digests of files and of all folders above them. Immutable; made by `of` or `from_record`."""

    def __init__(self, folders: Mapping[str, _Folder]) -> None:
        self._folders = folders

    @classmethod
    def of(cls, leaves: Mapping[str, str | bytes]) -> "MerkleTree":
        """Return the tree over some files, in time linear in their number.

        Args:
            leaves: Path, with ``/`` between the parts, and what stands for the file's content or state.

        Raises:
            ValueError: A path has an empty part, or is both a file and a folder.
        """
        folders = {"": _Folder()}
        for path, value in leaves.items():
            parent, _, name = path.rpartition("/")
            if not name or path[0] == "/":
                raise ValueError(f"{path!r} is no relative path of a file")
            folder = folders.get(parent) or _made(folders, parent)
            data = _BYTES + value if isinstance(value, bytes) else _TEXT + value.encode("utf-8", "surrogatepass")
            folder.files[name] = _digest(data)
        for path in reversed(folders):  # a folder was made after the one that holds it
            folder = folders[path]
            if not folder.files.keys().isdisjoint(folder.folders):
                both = ", ".join(sorted(folder.files.keys() & folder.folders.keys()))
                raise ValueError(f"in {path or '.'}: both a file and a folder: {both}")
            folder.digest = _digest(b"".join(_entries(folder)))
        return cls(folders)

    @property
    def root(self) -> str:
        """The digest over all files, in hexadecimal: equal if, and only if, all paths and values are."""
        return self.folder("")

    def folder(self, path: str) -> str:
        """Return the digest of a folder or a file, in hexadecimal; ``""`` is the root.

        Raises:
            KeyError: There is no such path.
        """
        if path in self._folders:
            return self._folders[path].digest.hex()
        parent, _, name = path.rpartition("/")
        return self._folders[parent].files[name].hex()

    def differences(self, other: "MerkleTree") -> Differences:
        """Return what is added, changed and removed in another tree; only folders that differ are entered."""
        found = Differences()
        pending = [("", self._folders[""], other._folders[""])]
        while pending:
            prefix, old, new = pending.pop()
            if old.digest == new.digest:
                continue
            found.visited += 1
            found.removed += [prefix + name for name in old.files.keys() - new.files.keys()]
            found.added += [prefix + name for name in new.files.keys() - old.files.keys()]
            both = old.files.keys() & new.files.keys()
            found.changed += [prefix + name for name in both if old.files[name] != new.files[name]]
            for name in old.folders.keys() | new.folders.keys():
                below = old.folders.get(name, _NOTHING), new.folders.get(name, _NOTHING)
                pending.append((f"{prefix}{name}/", *below))
        for paths in (found.added, found.changed, found.removed):
            paths.sort()
        return found

    def to_record(self) -> dict[str, Any]:
        """Return the tree as JSON can hold it: about 22 characters a file and its name."""
        numbers = {path: number for number, path in enumerate(self._folders)}
        folders = []
        for path, folder in self._folders.items():
            parent, _, name = path.rpartition("/")
            digests = b64encode(folder.digest + b"".join(folder.files.values())).decode()
            folders.append([numbers[parent], name, digests, list(folder.files)])
        return {"version": _RECORD_VERSION, "folders": folders}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "MerkleTree":
        """Return the tree of a record, without hashing anything.

        Raises:
            ValueError: The record is of another version, or damaged.
        """
        if record.get("version") != _RECORD_VERSION:
            raise ValueError(f"a Merkle tree of version {record.get('version')!r}")
        try:
            folders = _loaded(record["folders"])
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError("a damaged Merkle tree") from error
        return cls(folders)


def _made(folders: dict[str, _Folder], path: str) -> _Folder:
    """Add a folder and those above it that are not there yet, the outermost first."""
    missing: list[tuple[str, str]] = []
    folder = None
    above = path
    while folder is None:
        parent, _, name = above.rpartition("/")
        if not name:
            raise ValueError(f"{path!r} is no relative path of a folder")
        missing.append((above, name))
        folder, above = folders.get(parent), parent
    for one, name in reversed(missing):
        folders[one] = folder.folders[name] = folder = _Folder()
    return folder


def _entries(folder: _Folder) -> Iterator[bytes]:
    for name, digest in sorted(folder.files.items()):
        data = name.encode("utf-8", "surrogatepass")
        yield b"%b%d:%b%b" % (_FILE, len(data), data, digest)
    for name, below in sorted(folder.folders.items(), key=lambda item: item[0]):
        data = name.encode("utf-8", "surrogatepass")
        yield b"%b%d:%b%b" % (_FOLDER, len(data), data, below.digest)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _loaded(records: list[tuple[int, str, str, list[str]]]) -> dict[str, _Folder]:
    paths: list[str] = []
    folders: dict[str, _Folder] = {}
    for parent, name, encoded, names in records:
        digests = b64decode(encoded)
        if len(digests) != _DIGEST_BYTES * (len(names) + 1) or {type(name), *map(type, names)} != {str}:
            raise ValueError("a damaged Merkle tree")
        cuts = range(_DIGEST_BYTES, len(digests), _DIGEST_BYTES)
        files = dict(zip(names, (digests[cut : cut + _DIGEST_BYTES] for cut in cuts), strict=True))
        folder = _Folder(files, digest=digests[:_DIGEST_BYTES])
        above = paths[parent] if paths else ""
        path = f"{above}/{name}" if above else name
        if paths:
            folders[above].folders[name] = folder
        paths.append(path)
        folders[path] = folder
    if "" not in folders:
        raise ValueError("a damaged Merkle tree")
    return folders
