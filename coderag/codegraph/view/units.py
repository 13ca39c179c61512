"""Units of pictures: folders, files, declarations and packages, each with the nodes of the code graph that it stands for."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os.path import commonprefix
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import UnknownNameError
from coderag.schema.graph_view import ViewNode
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

ROOT: Final = "/"
EXTERNAL_ROOT: Final = "::"
FOLDER_KIND: Final = "folder"
_AFTER_SLASH: Final = "0"  # the character that follows "/"
_MAX_LABEL_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Unit:
    """A node of pictures.

    Attributes:
        key: Its stable name, as of `ViewNode`.
        node: Its node of the code graph; -1 for folders.
        start, stop: Range of nodes of the code graph: of a declaration, its own only.
        first_file, last_file: Range of positions in `SymbolGraph.files`; empty for others than folders and files.
    """

    key: str
    label: str
    kind: str
    node: int
    start: int
    stop: int
    first_file: int = 0
    last_file: int = 0

    @property
    def name(self) -> str:
        """Its name within its container, for layouts."""
        return self.key.partition("::")[2] or self.label


class Units:
    """The hierarchy of folders, files and declarations of a graph. Nothing is computed but what is asked for.

    Args:
        graph: The graph; files are in the order of their paths.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self.graph = graph
        self._names_by_file: dict[int, list[str]] = {}

    @cached_property
    def paths(self) -> list[str]:
        """Paths of all files, in order."""
        values = self.graph.paths.values
        return [values[code] for code in self.graph.paths.codes[self.graph.files].tolist()]

    @cached_property
    def external_start(self) -> int:
        """First node of a package outside the repository; they come last."""
        external_nodes = self.graph.find_by_kind(EXTERNAL_KIND)
        return int(external_nodes[0]) if len(external_nodes) else self.graph.n_nodes

    @cached_property
    def root(self) -> Unit:
        """The folder of the repository."""
        return Unit(ROOT, ROOT, FOLDER_KIND, -1, 0, self.external_start, 0, len(self.paths))

    def find(self, key: str) -> Unit:
        """Return the unit of a key; a declaration may also be named ``path::name@line``.

        Raises:
            UnknownNameError: There is none.
        """
        unit = self._find(key)
        if unit is None:
            raise UnknownNameError(
                f"{key[:200]!r} is not in the code graph", hint="It may have been renamed or removed."
            )
        return unit

    def _find(self, key: str) -> Unit | None:
        if key == ROOT:
            return self.root
        if key.startswith(EXTERNAL_ROOT):
            return self._find_external(key)
        if key.endswith("/"):
            return self._make_folder(key, "")
        path, separator, name = key.partition("::")
        file = self.graph.find_file(path)
        if file is None:
            return None
        if not separator:
            return self.make_file(int(np.searchsorted(self.graph.files, file)))
        return self._find_declaration(file, name)

    def _find_declaration(self, file: int, name: str) -> Unit | None:
        nodes_by_name = self._get_declaration_names(file)
        if name in nodes_by_name:
            return self.make_declaration(nodes_by_name[name])
        name, _, line = name.rpartition("@")
        candidates = [node for key, node in nodes_by_name.items() if key == name or key.rpartition("#")[0] == name]
        if not candidates or not line.isdecimal():
            return None
        return self.make_declaration(min(candidates, key=lambda node: abs(self.graph.start_lines[node] - int(line))))

    def _find_external(self, key: str) -> Unit | None:
        start, stop = self.external_start, self.graph.n_nodes
        if key == EXTERNAL_ROOT:
            label = "outside packages"
            return Unit(EXTERNAL_ROOT, label, EXTERNAL_KIND, -1, start, stop) if stop > start else None
        names = self.graph.names.slice(start).to_pylist()
        name = key.removeprefix(EXTERNAL_ROOT)
        return self._make_external(start + names.index(name)) if name in names else None

    # Children

    def list_children(self, unit: Unit) -> list[Unit]:
        """List the units directly inside a unit, in order."""
        if unit.kind == FOLDER_KIND:
            prefix = "" if unit.key == ROOT else unit.key
            external = self._find_external(EXTERNAL_ROOT) if unit.key == ROOT else None
            children = list(self._iterate_folder(prefix, unit.first_file, unit.last_file))
            return children if external is None else [*children, external]
        if unit.key == EXTERNAL_ROOT:
            return [self._make_external(node) for node in range(unit.start, unit.stop)]
        if unit.kind == EXTERNAL_KIND:
            return []
        return [self.make_declaration(node) for node in self.graph.find_children(unit.node)]

    def count_children(self, unit: Unit) -> int:
        """Count the units directly inside a unit."""
        if unit.kind == FOLDER_KIND:
            return sum(1 for _ in self._iterate_ranges(unit.key, unit.first_file, unit.last_file))
        if unit.key == EXTERNAL_ROOT:
            return unit.stop - unit.start
        if unit.kind == EXTERNAL_KIND:
            return 0
        nodes = self.graph.get_file_nodes(self._get_file(unit.node))
        return int((self.graph.parents[nodes.start : nodes.stop] == unit.node).sum())

    def _iterate_folder(self, prefix: str, first: int, last: int) -> Iterator[Unit]:
        for start, stop, is_folder in self._iterate_ranges(prefix, first, last):
            yield self._make_folder_range(start, stop, prefix) if is_folder else self.make_file(start)

    def _iterate_ranges(self, prefix: str, position: int, last: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the range of files of each child of a folder, and whether the child is a folder."""
        paths = self.paths
        while position < last:
            segment, slash, _ = paths[position][len(prefix) :].partition("/")
            end = bisect_left(paths, prefix + segment + _AFTER_SLASH, position, last) if slash else position + 1
            yield position, end, bool(slash)
            position = end

    def list_ancestors(self, unit: Unit) -> list[Unit]:
        """List the units around a unit, outermost first, without the root."""
        if unit.kind == EXTERNAL_KIND:
            root = self._find_external(EXTERNAL_ROOT)
            return [root] if root is not None and unit.key != EXTERNAL_ROOT else []
        ancestors: list[Unit] = []
        path = unit.key.rstrip("/") if unit.kind == FOLDER_KIND else self.graph.paths[unit.node]
        container = self.root
        while container.key != unit.key:
            if container.key != ROOT:
                ancestors.append(container)
            child = next(
                (child for child in self._iterate_towards(container, path) if f"{path}/".startswith(child.key)), None
            )
            if child is None or child.kind == FILE_KIND:
                break
            container = child
        if unit.kind not in {FOLDER_KIND, FILE_KIND}:
            ancestors.append(self.make_file(int(np.searchsorted(self.graph.files, self._get_file(unit.node)))))
            ancestors += [self.make_declaration(node) for node in reversed(self.graph.find_ancestors(unit.node))]
        return ancestors

    def _iterate_towards(self, folder: Unit, path: str) -> Iterator[Unit]:
        """Yield the child of a folder that contains a path, if any."""
        prefix = "" if folder.key == ROOT else folder.key
        position = bisect_left(self.paths, path, folder.first_file, folder.last_file)
        if position < folder.last_file:
            segment, slash, _ = self.paths[position][len(prefix) :].partition("/")
            if slash:
                start = bisect_left(self.paths, f"{prefix}{segment}/", folder.first_file, folder.last_file)
                end = bisect_left(self.paths, prefix + segment + _AFTER_SLASH, start, folder.last_file)
                yield self._make_folder_range(start, end, prefix)

    def find_folder(self, path: str) -> Unit | None:
        """Return the folder at a path; None if there is none."""
        return self._make_folder(f"{path.strip('/')}/", "") if path.strip("/") else None

    # Construction

    def _make_folder(self, key: str, prefix: str) -> Unit | None:
        start = bisect_left(self.paths, key)
        stop = bisect_left(self.paths, key[:-1] + _AFTER_SLASH)
        return self._make_folder_range(start, stop, prefix) if stop > start else None

    def _make_folder_range(self, start: int, stop: int, prefix: str) -> Unit:
        """Make the folder of a range of files; folders with nothing but one folder are merged with it."""
        common = commonprefix([self.paths[start], self.paths[stop - 1]])  # noqa: RUF071  # sorted, and cut at a slash
        key = common[: common.rindex("/") + 1]
        files = self.graph.files
        last_node = int(files[stop]) if stop < len(files) else self.external_start
        return Unit(key, key[len(prefix) :], FOLDER_KIND, -1, int(files[start]), last_node, start, stop)

    def make_file(self, position: int) -> Unit:
        """Make the unit of a file by its position among the files."""
        path, file = self.paths[position], int(self.graph.files[position])
        nodes = self.graph.get_file_nodes(file)
        return Unit(path, path.rpartition("/")[2], FILE_KIND, file, nodes.start, nodes.stop, position, position + 1)

    def make_declaration(self, node: int) -> Unit:
        """Make the unit of a declaration, a file or a package by its node."""
        kind = self.graph.kinds[node]
        if kind == EXTERNAL_KIND:
            return self._make_external(node)
        if kind == FILE_KIND:
            return self.make_file(int(np.searchsorted(self.graph.files, node)))
        file = self._get_file(node)
        names = self._get_names(file)
        key = f"{self.graph.paths[node]}::{names[node - file - 1]}"
        return Unit(key, self.graph.names[node].as_py()[:_MAX_LABEL_CHARS], kind, node, node, node + 1)

    def _make_external(self, node: int) -> Unit:
        name = self.graph.names[node].as_py()
        return Unit(f"{EXTERNAL_ROOT}{name}", name[:_MAX_LABEL_CHARS], EXTERNAL_KIND, node, node, node + 1)

    def _get_file(self, node: int) -> int:
        position = int(np.searchsorted(self.graph.files, node, side="right")) - 1
        return int(self.graph.files[position])

    def _get_declaration_names(self, file: int) -> dict[str, int]:
        return {name: file + 1 + position for position, name in enumerate(self._get_names(file))}

    def _get_names(self, file: int) -> list[str]:
        """Return the names of a file's declarations, each unique: ``name#2`` is the second of its name."""
        names = self._names_by_file.get(file)
        if names is None:
            nodes = self.graph.get_file_nodes(file)
            n_namesakes: Counter[str] = Counter()
            names = []
            for name in self.graph.qualified_names.slice(file + 1, len(nodes) - 1).to_pylist():
                n_namesakes[name] += 1
                names.append(name if n_namesakes[name] == 1 else f"{name}#{n_namesakes[name]}")
            self._names_by_file[file] = names
        return names

    # Facts

    def weigh(self, unit: Unit) -> float:
        """Weigh a unit by its number of declarations; a declaration by its lines."""
        if unit.kind == EXTERNAL_KIND:
            return float(unit.stop - unit.start)
        if unit.stop - unit.start == 1 and unit.kind != FILE_KIND:
            return 1.0 + float(self.graph.end_lines[unit.node] - self.graph.start_lines[unit.node])
        return float(unit.stop - unit.start)

    def describe(self, unit: Unit, n_children: int | None = None) -> ViewNode:
        """Describe a unit for a picture, without its place."""
        graph = self.graph
        count = self.count_children(unit) if n_children is None else n_children
        if unit.kind in {FOLDER_KIND, FILE_KIND}:
            files = graph.files[unit.first_file : unit.last_file]
            lines = graph.end_lines[files]
            return ViewNode(
                unit.key, unit.label, unit.kind,
                path=unit.key, start_line=1, end_line=int(lines[0]) if unit.kind == FILE_KIND else 0,
                language=_find_most(graph.languages.codes[files], lines, graph.languages.values),
                role=_find_most(graph.roles.codes[files], lines, graph.roles.values),
                files=len(files), declarations=unit.stop - unit.start - len(files), lines=int(lines.sum()), children=count,
            )  # fmt: skip
        if unit.kind == EXTERNAL_KIND:
            return ViewNode(unit.key, unit.label, unit.kind, "", 0, 0, "", "", 0, unit.stop - unit.start, 0, count)
        start, end = int(graph.start_lines[unit.node]), int(graph.end_lines[unit.node])
        language, role = graph.languages[unit.node], graph.roles[unit.node]
        path = graph.paths[unit.node]
        return ViewNode(unit.key, unit.label, unit.kind, path, start, end, language, role, 0, 1, end - start + 1, count)


def _find_most(codes: NDArray[np.int64], lines: NDArray[np.int64], values: list[str]) -> str:
    """Return the value with most lines; empty without any."""
    if not len(codes):
        return ""
    return values[int(np.bincount(codes, weights=lines + 1, minlength=len(values)).argmax())]
