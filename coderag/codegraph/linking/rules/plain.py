"""Rules of languages without rules of their own: simple and conservative.

A name is resolved in its file, in files that it imports by path, and in the source of a header. A method is also resolved by
the declared type of its receiver.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from coderag.codegraph.linking.import_paths import ImportResolver
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition

_HEADER_LANGUAGES = frozenset({"objective_c"})


class PlainRules(LanguageRules):
    """Rules of all other languages."""

    self_names: ClassVar[tuple[str, ...]] = ("self", "this", "me")
    self_type_names: ClassVar[tuple[str, ...]] = ("Self", "static")
    super_names: ClassVar[tuple[str, ...]] = ("super", "parent")
    common_methods = read_names("plain", "common_methods")  # fmt: skip

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file that an import names by its path, or an external referent."""
        for part in _iterate_name_parts(module):
            self.program.record_key(f"module:{part}")
        language = self.program.rows[file].language
        files = self._import_resolver.resolve(file, module, by_name=language in _HEADER_LANGUAGES)
        if len(files) == 1:
            return Referent("module", files[0])
        is_path = module.lstrip("\"'").startswith((".", "/"))
        return None if files or is_path else Referent("external", name=module)

    def extract_package_name(self, name: str) -> str:
        """Return the import as written: languages differ in which part of it is the package."""
        return name

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the only declaration of a name in the files visible from a file."""
        referents = [
            referent
            for other_file in self._get_imported_files(file)
            if (referent := self._find_declared(other_file, name)) is not None
        ]
        if len(referents) == 1 or (referents and self.program.rows[file].language in _HEADER_LANGUAGES):
            return referents[-1].replace_resolver("import", RESOLVER_PRECISION["import"])
        return None

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type that qualifies a definition: ``Foo`` of ``Foo::bar``."""
        if not definition.owner:
            return ()
        name = definition.owner.replace("::", ".").rpartition(".")[2]
        referent = self._find_declared(file, name) or self.resolve_in_package(resolver, file, name)
        if referent is None or referent.kind != "definition":
            return ()
        return [(referent.file, referent.index)]

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a type that its file, or the source of its header, defines out of line."""
        type_name = self.program.get_definition(file, index).name
        return [
            (other_file, member)
            for other_file in (file, *self._iterate_counterparts(file))
            for owner, members in self.program.read_interface(other_file).members_by_owner.items()
            if owner.replace("::", ".").rpartition(".")[2] == type_name
            for member in members.get(name, ())
        ]

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return the files that a file imports."""
        return self._get_imported_files(file)

    def _find_declared(self, file: int, name: str) -> Referent | None:
        """Return the declaration of a name in a file, at its top level or in its namespaces."""
        index = self.program.read_interface(file).top_level.get(name)
        return None if index is None else Referent("definition", file, index)

    def _get_imported_files(self, file: int) -> list[int]:
        """Return the files that a file imports, and the sources of imported headers."""
        return self.program.memoize("seen", file, lambda: self._find_imported_files(file))

    def _find_imported_files(self, file: int) -> list[int]:
        files: dict[int, None] = {}
        for import_ in self.program.read_interface(file).facts.imports:
            target = self.resolve_module(file, import_.module)
            if target is not None and target.kind == "module":
                files.update(dict.fromkeys((target.file, *self._iterate_counterparts(target.file))))
        files.update(dict.fromkeys(self._iterate_counterparts(file)))
        files.pop(file, None)
        return list(files)

    def _iterate_counterparts(self, file: int) -> Iterator[int]:
        """Yield the files of a C-like language with the same stem and another extension: a header and its source."""
        row = self.program.rows[file]
        if row.language in _HEADER_LANGUAGES:
            stem = _get_stem(row.path)
            self.program.record_key(f"module:{stem}")
            yield from (other_file for other_file in self._files_by_stem[stem] if other_file != file)

    @cached_property
    def _import_resolver(self) -> ImportResolver:
        return ImportResolver([row.path for row in self.program.rows])

    @cached_property
    def _files_by_stem(self) -> dict[str, list[int]]:
        files: dict[str, list[int]] = defaultdict(list)
        for file, row in enumerate(self.program.rows):
            if row.language in _HEADER_LANGUAGES:
                files[_get_stem(row.path)].append(file)
        return files


def _get_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _iterate_name_parts(module: str) -> Iterator[str]:
    """Yield the names in an import, without extensions."""
    for part in module.replace("::", "/").replace("\\", "/").split("/"):
        yield from filter(None, part.split("."))
