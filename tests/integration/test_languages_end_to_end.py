"""Each fixture repository is indexed, and every symbol that it is known to declare is found by its name."""

import json
import re
import shutil
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.text.readable_text import to_readable_text

REPOSITORIES = Path(__file__).parents[1] / "fixtures" / "repos"
LANGUAGES = sorted(path.parent.name for path in REPOSITORIES.glob("*/expected.json"))


class Repository:
    """An indexed copy of a fixture, with the symbols that are known of it."""

    def __init__(self, language, folder):
        self.expected = json.loads((REPOSITORIES / language / "expected.json").read_text(encoding="utf-8"))
        shutil.copytree(REPOSITORIES / language, folder, ignore=shutil.ignore_patterns("expected.json"))
        self.rag = CodeRAG(folder)
        self.report = self.rag.index()
        self.lines = {
            path.relative_to(folder).as_posix(): to_readable_text(path.name, path.read_text(encoding="utf-8")).split(
                "\n"
            )
            for path in folder.rglob("*")
            if path.is_file() and ".coderag" not in path.parts
        }

    def symbols(self):
        """Yield qualified name, kind and lines of what people ask for by its name; the file is not in the list."""
        stems = {Path(path).stem for path in self.lines}
        for qualified_name, kind, start, end in self.expected["symbols"]:
            is_name = re.fullmatch(r"[\w.:#$]*\w[!?=]?", qualified_name) is not None
            if is_name and kind not in {"section", "key", "rule"} and qualified_name not in stems:
                yield qualified_name, kind, (start, end)


@pytest.fixture(scope="module", params=LANGUAGES)
def repository(request, tmp_path_factory):
    return Repository(request.param, tmp_path_factory.mktemp("repos") / request.param)


def test_there_are_fixtures():
    assert {"python", "typescript", "go"} <= set(LANGUAGES)


def test_every_file_is_indexed(repository):
    locks = sum(path.endswith(".lock") for path in repository.lines)
    assert repository.report.files == {"indexed": len(repository.lines) - locks} | ({"skipped": locks} if locks else {})
    secrets = [path for path in repository.lines if path.endswith(".tfvars")]
    assert [path for path, _ in repository.rag.status().notes] == secrets


def test_every_symbol_is_found_by_its_qualified_name(repository):
    missing = set()
    for qualified_name, _, (start, end) in repository.symbols():
        # A declaration that was split is shown by the chunk that it begins in.
        hits = [hit for hit in repository.rag.definition(qualified_name) if hit.qualified_name == qualified_name]
        if not any(
            (hit.start_line, hit.end_line) == (start, end) or hit.start_line <= start <= hit.end_line for hit in hits
        ):
            missing.add(qualified_name)
    assert missing == set()


def test_what_is_found_is_the_text_of_its_lines(repository):
    for qualified_name, _, _ in repository.symbols():
        for hit in repository.rag.definition(qualified_name):
            assert hit.text.rstrip("\n") == "\n".join(
                repository.lines[str(hit.path)][hit.start_line - 1 : hit.end_line]
            ).rstrip("\n")


def test_searching_for_a_symbol_finds_its_file_first(repository):
    missed = []
    for qualified_name in {name for name, _, _ in repository.symbols()}:
        declaring = {str(hit.path) for hit in repository.rag.definition(qualified_name)}
        hits = repository.rag.search(qualified_name)
        # What only a test declares steps back behind the code that the test is of.
        looked_at = hits[:2] if all("test" in path.lower() for path in declaring) else hits[:1]
        if declaring.isdisjoint(str(hit.path) for hit in looked_at):
            missed.append((qualified_name, [str(hit.path) for hit in hits[:2]]))
    assert missed == []
