"""Packages of the Java virtual machine: by declaration, whatever the folders, with the files of Java and Kotlin."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from coderag.codegraph.linking.overloads import strip_arity
from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.referents import TYPE_KINDS

JVM_LANGUAGES: Final = ("java", "kotlin")
_FACADE_SUFFIX: Final = "Kt"
_ACCESSOR_PREFIXES: Final = ("get", "is", "set")


class JvmPackages:
    """Declarations of packages.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._declarations: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def has_package(self, name: str) -> bool:
        """Return whether any file declares a package or a package inside it."""
        for language in JVM_LANGUAGES:
            self._program.record_key(f"namespace:{language}:{name}")
        return name in self._packages

    def find_declarations(self, package: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the top-level declarations of a package with a name, extensions included, as (file, index)."""
        for language in JVM_LANGUAGES:
            self._program.record_key(f"name:{language}:{name}")
        key = package, name
        if key not in self._declarations:
            self._declarations[key] = [
                (file, index)
                for file, index in self._program.find_declarations(strip_arity(name), JVM_LANGUAGES)
                if self._program.rows[file].package == package
                and self._program.peek(file).definitions[index].parent == MODULE
            ]
        return self._declarations[key]

    def find_types(self, package: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the top-level types of a package with a name, as (file, index)."""
        return [
            (file, index)
            for file, index in self.find_declarations(package, name)
            if self._program.peek(file).definitions[index].kind in TYPE_KINDS
        ]

    def find_facade(self, package: str, name: str) -> int | None:
        """Return the Kotlin file that a class such as ``FilesKt`` stands for in Java; None if there is none."""
        if not self.is_mixed or not name.endswith(_FACADE_SUFFIX):
            return None
        stem = name.removesuffix(_FACADE_SUFFIX)
        self._program.record_key(f"module:{stem}")
        self._program.record_key(f"namespace:kotlin:{package}")
        return self._facades.get((package, stem))

    @cached_property
    def is_mixed(self) -> bool:
        """True if there are files of both languages."""
        languages = {row.language for row in self._program.rows}
        return languages.issuperset(JVM_LANGUAGES)

    @cached_property
    def _facades(self) -> dict[tuple[str, str], int]:
        return {
            (row.package, row.path.rpartition("/")[2].partition(".")[0]): file
            for file, row in reversed(list(enumerate(self._program.rows)))
            if row.language == "kotlin"
        }

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Declared packages and their enclosing packages."""
        packages: set[str] = set()
        for package in {row.package for row in self._program.rows if row.language in JVM_LANGUAGES}:
            parts = package.split(".")
            packages.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return frozenset(packages - {""})


def iterate_accessors(name: str) -> Iterator[str]:
    """Yield the names of the Java accessors of a Kotlin property."""
    for prefix in _ACCESSOR_PREFIXES:
        yield f"{prefix}{name[:1].upper()}{name[1:]}"


def find_property_name(accessor: str) -> str:
    """Return the name of the Kotlin property of a Java accessor; empty if it is none."""
    for prefix in _ACCESSOR_PREFIXES:
        rest = accessor.removeprefix(prefix)
        if rest != accessor and rest[:1].isupper():
            return accessor if prefix == "is" else rest[:1].lower() + rest[1:]
    return ""
