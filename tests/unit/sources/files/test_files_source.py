import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from coderag.config.source_sections import FilesSection
from coderag.errors import SourceError, SourceUnavailableError
from coderag.schema.items import Item
from coderag.sources.connector_table import ConnectorContext, open_source
from coderag.sources.files.connector import FilesSource, open_files
from coderag.sources.files.document_store import DocumentFilter
from coderag.sources.files.folder_store import FolderStore
from coderag.sources.mirror import ItemMirror
from coderag.sources.protocol import Source
from coderag.sources.synchronization import synchronize
from tests.unit.sources.conformance import SourceConformance, SourceWorld


class FileServer:
    """Documents as the fake server of the conformance suite: a folder, and a hook after each change."""

    request_count = 0
    page_size = 3

    def __init__(self, folder: Path, commit: Callable[[], None]) -> None:
        self.folder = folder
        self._commit = commit
        self._number = 0

    def add_item(self, title: str, text: str) -> str:
        self._number += 1
        path = f"part{self._number % 2}/doc{self._number}.md"
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(f"# {title}\n\n{text}\n")
        self._commit()
        return path

    def change_item(self, item_id: str, text: str) -> None:
        (self.folder / item_id).write_text(f"# Changed\n\n{text}\n")
        self._commit()

    def delete_item(self, item_id: str) -> None:
        (self.folder / item_id).unlink()
        self._commit()

    def move_item(self, item_id: str) -> None:
        place = self.folder / item_id
        place.rename(place.with_suffix(".tmp"))
        place.with_suffix(".tmp").rename(place)

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", *, times: int = 1
    ) -> None:
        raise NotImplementedError

    def refuse_key(self, *, refuses: bool = True) -> None:
        raise NotImplementedError

    def loop_pages(self, *, loops: bool = True) -> None:
        raise NotImplementedError


def run_git(folder: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return result.stdout.strip()


def make_repository(folder: Path) -> Callable[[], None]:
    """Make a git repository; return a function that commits all."""
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")

    def commit() -> None:
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-q", "--allow-empty", "-m", "Change")

    commit()
    return commit


def open_section(root: Path, clone: str = "clone", **values: object) -> FilesSource:
    section = FilesSection.model_validate({"system": "files", **values})
    return open_files(section, ConnectorContext("docs", root, root / clone))


def open_store(folder: Path) -> FilesSource:
    return FilesSource(FolderStore(folder, DocumentFilter((), ())), page_documents=3)


class TestFolder(SourceConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> SourceWorld:
        folder = tmp_path / "docs"
        folder.mkdir()
        return SourceWorld(FileServer(folder, lambda: None), lambda: open_store(folder))

    test_check_names_the_scope_and_reads_no_items = None  # type: ignore[assignment]  # an empty folder is refused


class TestGitFolder(SourceConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> SourceWorld:
        server = FileServer(tmp_path / "docs", make_repository(tmp_path / "docs"))
        return SourceWorld(server, lambda: open_section(tmp_path, git="docs"))

    test_check_names_the_scope_and_reads_no_items = None  # type: ignore[assignment]  # as above
    test_run_killed_at_any_page_continues_without_loss = None  # type: ignore[assignment]  # as of a folder


def read_items(source: Source) -> dict[str, Item]:
    return {item.id: item for page in source.read_changes(None) for item in page.items}


def test_only_visible_documents_that_match_are_read(tmp_path: Path) -> None:
    for path in (
        "a.md", "b.adoc", "c.rst", "d.txt", "e.py", ".hidden.md", ".github/x.md", "old/f.md", "guide/g.MD", "h.json",
    ):  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("{}")

    assert sorted(read_items(open_section(tmp_path, path="."))) == ["a.md", "b.adoc", "c.rst", "guide/g.MD", "old/f.md"]
    assert sorted(read_items(open_section(tmp_path, path=".", exclude=["old/**", "*.rst"]))) == [
        "a.md",
        "b.adoc",
        "guide/g.MD",
    ]
    assert sorted(read_items(open_section(tmp_path, path=".", include=["guide"]))) == ["guide/g.MD"]


@pytest.mark.skipif("sys.platform == 'win32'")
def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "link.md").symlink_to(tmp_path / "secret.md")
    (docs / "folder").symlink_to(tmp_path)

    assert read_items(open_section(tmp_path, path="docs")) == {}


def test_item_has_title_path_address_and_time(tmp_path: Path) -> None:
    (tmp_path / "a b.md").write_bytes("\ufeff---\ntitle: x\n---\n# Caf\u00e9 \u00e9t\u00e9\n".encode())
    item = read_items(open_section(tmp_path, path=".", url="https://docs.example/"))["a b.md"]

    assert (item.title, item.url, item.kind) == ("Caf\u00e9 \u00e9t\u00e9", "https://docs.example/a%20b.md", "file")
    assert item.modified is not None
    assert item.access.is_public


def test_document_that_is_too_large_or_unparsable_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n")
    (tmp_path / "large.md").write_bytes(b"x" * 10_000_001)
    (tmp_path / "bad.yaml").write_text("openapi: 3.0.0\npaths: [\n")
    mirror = ItemMirror(tmp_path / ".mirror")
    run = synchronize("docs", open_section(tmp_path, path="."), mirror)

    assert (run.outcome, run.changes.added, run.changes.failed) == ("complete", 1, 2)
    reasons = {failure.id: failure.reason for failure in mirror.list_failures()}
    assert reasons["large.md"] == "it is larger than 10,000,000 bytes"
    assert reasons["bad.yaml"].startswith("it is not valid YAML in line")

    (tmp_path / "bad.yaml").write_text("openapi: 3.0.0\ninfo: {title: T}\npaths: {}\n")
    (tmp_path / "large.md").unlink()
    synchronize("docs", open_section(tmp_path, path="."), mirror)
    assert mirror.list_failures() == []
    assert sorted(mirror.list_ids("docs")) == ["bad.yaml", "good.md"]


def test_missing_or_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_section(tmp_path, path="docs").check()
    (tmp_path / "docs").mkdir()
    with pytest.raises(SourceError, match="has no documents"):
        open_section(tmp_path, path="docs").check()


def test_unmounted_folder_deletes_nothing(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n")
    mirror = ItemMirror(tmp_path / "mirror")
    synchronize("docs", open_section(tmp_path, path="docs"), mirror)
    docs.rename(tmp_path / "away")

    assert synchronize("docs", open_section(tmp_path, path="docs"), mirror).outcome == "failed"
    docs.mkdir()
    assert synchronize("docs", open_section(tmp_path, path="docs"), mirror).outcome == "incomplete"
    assert mirror.list_ids("docs") == ["a.md"]


def test_address_of_a_repository_is_cloned_and_followed(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    commit = make_repository(origin)
    (origin / "a.md").write_text("# A\n\nfirst\n")
    (origin / ".gitattributes").write_text("*.md filter=evil\n")
    commit()
    source = open_section(tmp_path, git=origin.as_uri())
    assert read_items(source)["a.md"].text == "# A\n\nfirst\n"
    (page,) = source.read_changes(None)
    (idle,) = source.read_changes(page.checkpoint)
    assert (list(idle.items), idle.checkpoint) == ([], page.checkpoint)

    (origin / "a.md").write_text("# A\n\nsecond\n")
    run_git(origin, "add", "-A")
    run_git(origin, "commit", "-q", "--amend", "-m", "Rewritten")
    (page,) = source.read_changes(page.checkpoint)
    assert [item.text for item in page.items] == ["# A\n\nsecond\n"]


def test_branch_of_a_repository_is_read(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "origin")
    run_git(tmp_path / "origin", "checkout", "-q", "-b", "other")
    (tmp_path / "origin" / "b.md").write_text("# B\n")
    commit()
    run_git(tmp_path / "origin", "checkout", "-q", "main")

    for number, location in enumerate(("origin", (tmp_path / "origin").as_uri())):
        assert read_items(open_section(tmp_path, f"clone{number}", git=location)) == {}
        assert list(read_items(open_section(tmp_path, f"clone{number}", git=location, branch="other"))) == ["b.md"]
        with pytest.raises(SourceError, match="none-such"):
            open_section(tmp_path, f"clone{number}", git=location, branch="none-such").check()


@pytest.mark.parametrize(
    "location", ["file:///nowhere/at/all", "ext::sh -c touch% {root}/pwned", "https://u:s3cret@127.0.0.1:1/x"]
)
def test_repository_that_cannot_be_fetched_is_an_error_without_password(tmp_path: Path, location: str) -> None:
    with pytest.raises(SourceUnavailableError, match="cannot be fetched") as caught:
        open_section(tmp_path, git=location.format(root=tmp_path)).check()

    assert "s3cret" not in f"{caught.value}"
    assert not (tmp_path / "pwned").exists()


def test_repository_inside_another_one_is_not_mistaken_for_it(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "outer")
    (tmp_path / "outer" / "outer.md").write_text("# Outer\n")
    commit()
    make_repository(tmp_path / "origin")

    assert read_items(open_section(tmp_path / "outer", git=(tmp_path / "origin").as_uri())) == {}


def test_reader_of_settings_opens_the_connector(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    section = FilesSection.model_validate({"system": "files", "path": str(tmp_path)})

    assert list(read_items(open_source("docs", section, tmp_path, tmp_path / "own"))) == ["a.md"]
