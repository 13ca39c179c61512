"""The golden sets that are measured, each with the folder that it is about."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..golden import GoldenSet, load_golden  # noqa: TID252  # installed, it has another name
from ..projects import DATASETS  # noqa: TID252  # installed, it has another name
from ..sources import lay_out, load_sources  # noqa: TID252  # installed, it has another name

SetName = Literal["coderag", "fixtures", "projects"]
SETS: Final[tuple[SetName, ...]] = ("coderag", "fixtures", "projects")


@dataclass(frozen=True, slots=True)
class Subject:
    """A golden set and what it is about.

    Attributes:
        place: Returns the folder; where it must be made first, that may fail with an `IngestionError`.
        index: Folder of the index, outside of the one that is asked about.
        excluded: Files that are neither indexed nor searched.
    """

    golden: GoldenSet
    place: Callable[[], Path]
    index: Path
    excluded: Sequence[str] = ()


def subjects(name: SetName, repo: Path, trees: Path, clones: Path | None = None) -> Iterator[Subject]:
    """Yield the golden sets of a name.

    Args:
        name: ``coderag`` asks about a checkout of this repository, ``fixtures`` about the fixtures in it, ``projects`` about
            open-source projects.
        repo: The checkout.
        trees: Folder for the projects' files and for all indexes.
        clones: Folder of git clones of the projects; without it they are downloaded.

    Raises:
        GoldenSetError: A set cannot be read.
        ConfigurationError: The list of the projects cannot be read.
    """
    if name == "coderag":
        yield Subject(load_golden(DATASETS / "coderag.jsonl"), partial(Path, repo), trees / "efficiency" / "coderag")
        return
    sources = load_sources(DATASETS / "projects" / "sources.toml") if name == "projects" else {}
    for path in sorted((DATASETS / name).glob("*.jsonl")):
        index = trees / "efficiency" / path.stem
        if name == "fixtures":
            place = partial(Path, repo, "tests", "fixtures", "repos", path.stem)
            yield Subject(load_golden(path), place, index, ("expected.json",))  # it lists what they declare
        else:
            project = partial(lay_out, path.stem, sources[path.stem], trees, clones)
            yield Subject(load_golden(path), project, index)
