"""Golden sets to measure, each with the source of its repository."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..golden import GoldenSet, load_golden  # noqa: TID252  # installed, it has another name
from ..projects import DATASETS  # noqa: TID252  # installed, it has another name
from ..sources import check_out_project, load_sources  # noqa: TID252  # installed, it has another name

SetName = Literal["coderag", "fixtures", "projects"]
SETS: Final[tuple[SetName, ...]] = ("coderag", "fixtures", "projects")


@dataclass(frozen=True, slots=True)
class Subject:
    """Golden set with the source of its repository.

    Attributes:
        get_folder: Return the repository's folder; raise `IngestionError` if it cannot be checked out.
        index: Folder of the index, outside the repository.
        excluded: Files that are neither indexed nor searched.
    """

    golden: GoldenSet
    get_folder: Callable[[], Path]
    index: Path
    excluded: Sequence[str] = ()


def list_subjects(name: SetName, repo: Path, trees: Path, clones: Path | None = None) -> Iterator[Subject]:
    """Yield the golden sets of a collection.

    Args:
        name: ``coderag`` is about a checkout of this repository, ``fixtures`` about its fixtures, ``projects`` about
            open-source projects.
        repo: Checkout of this repository.
        trees: Folder for the projects' files and for all indexes.
        clones: Folder of git clones of the projects; without it, they are downloaded.

    Raises:
        GoldenSetError: A golden set cannot be read.
        ConfigurationError: The list of projects cannot be read.
    """
    if name == "coderag":
        yield Subject(load_golden(DATASETS / "coderag.jsonl"), partial(Path, repo), trees / "efficiency" / "coderag")
        return
    sources = load_sources(DATASETS / "projects" / "sources.toml") if name == "projects" else {}
    for path in sorted((DATASETS / name).glob("*.jsonl")):
        index = trees / "efficiency" / path.stem
        if name == "fixtures":
            place = partial(Path, repo, "tests", "fixtures", "repos", path.stem)
            yield Subject(load_golden(path), place, index, ("expected.json",))  # it lists the declarations
        else:
            project = partial(check_out_project, path.stem, sources[path.stem], trees, clones)
            yield Subject(load_golden(path), project, index)
