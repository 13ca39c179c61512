import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.errors import ConfigurationError, StoreError
from coderag.schema.items import (
    PUBLIC,
    Item,
    ItemAccess,
    ItemComment,
    ItemFailure,
    ItemLink,
    StatusChange,
)
from coderag.schema.mirrored_items import PageChanges
from coderag.sources.item_paths import build_item_path
from coderag.sources.item_query import ItemQuery
from coderag.sources.mirror import ItemMirror
from coderag.sources.protocol import Page
from coderag.sources.rendering import render_item

TICKET = Item(
    id="PROJ-45",
    kind="ticket",
    title="Login fails after midnight",
    text="Steps:\n\n1. Wait",
    url="https://jira.example/browse/PROJ-45",
    revision="7",
    created=datetime(2024, 3, 1, 9, 30, tzinfo=UTC),
    modified=datetime(2024, 3, 2, tzinfo=UTC),
    type="Bug",
    status="Open",
    labels=("auth", "Night"),
    people={"assignee": ("Ada Lovelace",)},
    fields={"Sprint": "12"},
    links=(ItemLink("blocks", "PROJ-46"),),
    comments=(ItemComment("Alan Turing", datetime(2024, 3, 1, 10, tzinfo=UTC), "Ada Lovelace saw it, too."),),
    status_changes=(StatusChange("Alan Turing", datetime(2024, 3, 2, tzinfo=UTC), "New", "Open"),),
    access=ItemAccess(users=("ada",), groups=("dev",)),
)


def make_page(number: int, text: str = "Text.") -> Item:
    return Item(id=str(number), kind="page", title=f"Page {number}", text=text, access=PUBLIC)


@pytest.fixture
def mirror(tmp_path: Path) -> ItemMirror:
    return ItemMirror(tmp_path / "sources")


def read_files(mirror: ItemMirror) -> dict[str, str]:
    folder = mirror.files_folder
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


def test_item_comes_back_with_all_its_fields(mirror: ItemMirror) -> None:
    mirror.apply_page("tracker", Page([TICKET], {"since": "2024-03-02"}))

    record = mirror.get("tracker", "PROJ-45")
    assert record is not None
    for name in ("kind", "title", "url", "revision", "type", "status", "labels", "people", "fields", "links", "access"):
        assert getattr(record, name) == getattr(TICKET, name)
    assert (record.created, record.modified) == (TICKET.created, TICKET.modified)
    assert mirror.get_by_path(record.path) == record
    assert mirror.read_checkpoint("tracker") == {"since": "2024-03-02"}


def test_file_has_title_fields_body_comments_and_history(mirror: ItemMirror) -> None:
    mirror.apply_page("tracker", Page([TICKET], {}))

    (text,) = read_files(mirror).values()
    assert text.startswith("# Login fails after midnight\n\n- Source: tracker, ticket\n- Id: PROJ-45\n")
    for line in ("- Status: Open", "- Assignee: Ada Lovelace", "- Sprint: 12", "- Link: blocks PROJ-46", "1. Wait"):
        assert line in text.split("\n")
    assert "## Comments\n\n### Alan Turing, 2024-03-01 10:00\n\nAda Lovelace saw it, too." in text
    assert text.endswith("## Status history\n\n- 2024-03-02 00:00: New to Open, by Alan Turing\n")


def test_unchanged_item_is_not_written_again(mirror: ItemMirror) -> None:
    assert mirror.apply_page("wiki", Page([make_page(1)], {})) == PageChanges(added=1)
    (file,) = mirror.files_folder.rglob("*.md")
    before = file.stat()
    record = mirror.get("wiki", "1")

    assert mirror.apply_page("wiki", Page([make_page(1)], {})) == PageChanges(unchanged=1)
    assert mirror.get("wiki", "1") == record
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_new_access_is_stored_without_new_text(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1)], {}))
    mirror.apply_page("wiki", Page([replace(make_page(1), access=ItemAccess(groups=("staff",)))], {}))

    record = mirror.get("wiki", "1")
    assert record is not None
    assert record.access == ItemAccess(groups=("staff",))


def test_new_title_renames_the_file(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1)], {}))
    mirror.apply_page("wiki", Page([replace(make_page(1), title="Renamed")], {}))

    (path,) = read_files(mirror)
    assert path.startswith("wiki/page/renamed--")


def test_last_occurrence_on_a_page_counts(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1, "old"), make_page(2), make_page(1, "new")], {}))

    record = mirror.get("wiki", "1")
    assert record is not None
    assert "new" in mirror.read_text(record)
    assert mirror.count_items()["wiki"].items == 2


def test_deleted_items_lose_file_record_and_failure(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1), make_page(2)], {}, failures=[ItemFailure("1", "too large")]))

    changes = mirror.apply_page("wiki", Page([], {}, deleted=["1", "unknown"]))

    assert changes == PageChanges(deleted=1)
    assert mirror.list_ids("wiki") == ["2"]
    assert len(read_files(mirror)) == 1
    assert mirror.list_failures() == []


def test_failed_item_keeps_its_last_version_and_counts_attempts(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1)], {}))
    for _ in range(2):
        mirror.apply_page("wiki", Page([], {}, failures=[ItemFailure("1", "HTTP 500", "https://wiki.example/1")]))

    (failure,) = mirror.list_failures("wiki")
    assert (failure.id, failure.reason, failure.attempts) == ("1", "HTTP 500", 2)
    assert mirror.get("wiki", "1") is not None

    mirror.apply_page("wiki", Page([make_page(1)], {}))
    assert mirror.list_failures("wiki") == []


@pytest.mark.parametrize("bad", ["", "a\0b", "\ud800", "x" * 2_000])
def test_item_with_unusable_id_is_a_failure_and_others_are_stored(mirror: ItemMirror, bad: str) -> None:
    changes = mirror.apply_page("wiki", Page([replace(make_page(1), id=bad), make_page(2)], {}))

    assert (changes.added, changes.failed) == (1, 1)
    assert "id" in mirror.list_failures()[0].reason


def test_secrets_are_redacted_in_file_record_and_database(mirror: ItemMirror) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    item = replace(make_page(1, f"Use {key} there."), title=f"Key {key}", fields={"Note": f"aws {key}"})
    mirror.apply_page("wiki", Page([item], {}))

    record = mirror.get("wiki", "1")
    assert record is not None
    assert key not in f"{read_files(mirror)} {record} {mirror.read_text(record)}"
    assert key.lower() not in record.path
    mirror.close()
    assert key.encode() not in (mirror.folder / "items.sqlite").read_bytes()


def test_people_are_masked_by_equal_pseudonyms_but_access_stays(tmp_path: Path) -> None:
    mirror = ItemMirror(tmp_path / "sources", load_people_key=lambda: b"key" * 8)
    item = replace(TICKET, text="Ask ada lovelace or ada@example.org.")
    mirror.apply_page("tracker", Page([item], {}))

    record = mirror.get("tracker", "PROJ-45")
    assert record is not None
    text = mirror.read_text(record)
    assert not any(name in text for name in ("Ada", "ada", "Alan", "Turing"))
    (pseudonym,) = record.people["assignee"]
    assert text.count(pseudonym) == 3  # field, body, comment
    assert record.access == TICKET.access
    assert ItemMirror(tmp_path / "sources", load_people_key=lambda: b"key" * 8).get("tracker", "PROJ-45") == record


def test_masking_switched_on_later_reads_everything_again(tmp_path: Path) -> None:
    plain = ItemMirror(tmp_path / "sources")
    assert plain.prepare() == []
    plain.apply_page("tracker", Page([TICKET], {"since": 1}))
    assert plain.prepare() == []
    assert plain.read_checkpoint("tracker") == {"since": 1}

    masked = ItemMirror(tmp_path / "sources", load_people_key=lambda: b"key" * 8)
    (note,) = masked.prepare()
    assert "masking" in note
    assert masked.read_checkpoint("tracker") is None


def test_sweep_removes_orphans_and_restores_missing_and_altered_files(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(number) for number in range(3)], {}))
    before = read_files(mirror)
    missing, altered, _ = (mirror.files_folder / path for path in before)
    missing.unlink()
    altered.write_text("# Other\n")
    (altered.parent / "orphan--000000000000.md").write_text("x")
    (mirror.files_folder / "wiki" / ".coderag.yaml").write_text("x")
    index = mirror.files_folder / ".coderag" / "state"
    index.parent.mkdir()
    index.write_text("kept")

    report = mirror.sweep()

    assert (report.removed, len(report.restored_signatures)) == (2, 2)
    assert index.read_text() == "kept"
    index.unlink()
    assert read_files(mirror) == before
    assert mirror.sweep().restored_signatures == {}


@pytest.mark.skipif("sys.platform == 'win32'")
def test_links_in_the_mirror_are_never_followed(mirror: ItemMirror, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "page").mkdir(parents=True)
    (outside / "precious.md").write_text("x")
    mirror.files_folder.mkdir(parents=True)
    (mirror.files_folder / "wiki").symlink_to(outside)

    mirror.apply_page("wiki", Page([make_page(1)], {}))
    (mirror.files_folder / "other").symlink_to(outside)
    mirror.sweep()

    assert [path.name for path in outside.rglob("*.md")] == ["precious.md"]
    assert len(read_files(mirror)) == 1


def test_reading_an_absent_mirror_creates_nothing(mirror: ItemMirror) -> None:
    assert mirror.list_items() == []
    assert mirror.get("wiki", "1") is None
    assert mirror.count_items() == {}
    assert mirror.read_checkpoint("wiki") is None
    assert not mirror.folder.exists()


def test_damaged_database_is_an_error_until_a_run_replaces_it(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1)], {"at": 1}))
    mirror.close()
    for suffix in ("-wal", "-shm"):
        (mirror.folder / f"items.sqlite{suffix}").unlink(missing_ok=True)
    (mirror.folder / "items.sqlite").write_bytes(b"no database" * 500)

    with pytest.raises(StoreError, match="not a database") as caught:
        mirror.list_items()
    assert "coderag sources sync" in caught.value.hint

    (note,) = mirror.prepare()
    assert "items.sqlite.damaged" in note
    assert mirror.read_checkpoint("wiki") is None
    assert read_files(mirror) == {}


def test_failed_transaction_leaves_the_mirror_as_before(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1)], {"at": 1}))
    before = read_files(mirror), mirror.list_items()
    other = sqlite3.connect(mirror.folder / "items.sqlite")
    other.execute("CREATE TRIGGER refuse BEFORE INSERT ON checkpoints BEGIN SELECT RAISE(ABORT, 'refused'); END")
    other.close()

    with pytest.raises(StoreError, match="refused"):
        mirror.apply_page("wiki", Page([make_page(1, "new"), make_page(2)], {"at": 2}))
    mirror.sweep()

    assert (read_files(mirror), mirror.list_items()) == before
    assert mirror.read_checkpoint("wiki") == {"at": 1}


def test_items_are_listed_by_any_case_of_their_fields(mirror: ItemMirror) -> None:
    story = replace(TICKET, id="PROJ-46", title="Straße", type="Story", labels=(), modified=None)
    mirror.apply_page("tracker", Page([TICKET, story], {}))
    mirror.apply_page("wiki", Page([make_page(1)], {}))

    def list_ids(**filters: object) -> list[str]:
        return [item.id for item in mirror.list_items(**filters)]  # type: ignore[arg-type]

    assert list_ids() == ["PROJ-45", "PROJ-46", "1"]
    assert list_ids(types=["bug"]) == ["PROJ-45"]
    assert list_ids(states=["OPEN"], types=["STORY", "epic"]) == ["PROJ-46"]
    assert list_ids(tags=["night"]) == ["PROJ-45"]
    assert list_ids(kinds=["page"]) == ["1"]
    assert list_ids(text_prefix="proj-4") == ["PROJ-45", "PROJ-46"]
    assert list_ids(text_prefix="STRASSE") == ["PROJ-46"]
    assert list_ids(limit=1, offset=1) == ["PROJ-46"]
    assert list_ids(source="wiki") == ["1"]
    assert mirror.count_matches(ItemQuery(kinds=["ticket"])) == 2


def test_removed_source_leaves_the_others(mirror: ItemMirror) -> None:
    mirror.apply_page("wiki", Page([make_page(1), make_page(2)], {"at": 1}))
    mirror.apply_page("tracker", Page([TICKET], {}))

    assert mirror.remove_source("wiki") == 2
    assert list(mirror.count_items()) == ["tracker"]
    assert mirror.read_checkpoint("wiki") is None
    assert not (mirror.files_folder / "wiki").exists()


@pytest.mark.parametrize("name", ["", "..", "Wiki", "con", "a/b", ".hidden", "x" * 41, "end-"])
def test_unsafe_source_name_is_refused(mirror: ItemMirror, name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a name of a source"):
        mirror.apply_page(name, Page([make_page(1)], {}))


@given(title=st.text(max_size=120), item_id=st.text(min_size=1, max_size=30))
@settings(max_examples=60)
def test_path_is_safe_for_any_title_and_id(title: str, item_id: str) -> None:
    source, kind, name = build_item_path("wiki", Item(item_id, "page", title, "")).split("/")

    assert (source, kind) == ("wiki", "page")
    assert len(name.encode()) <= 120
    assert name.endswith(".md")
    assert "--" in name
    assert name[0].isalnum() or not name[0].isascii()
    assert not set(name) & set('\\:*?"<>|\0 \n')
    assert name == name.casefold() or not name.isascii()


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", ".coderag.yaml", "CON", "a\0b", "ä" * 500, "", "...", "\u202egnp.exe"]
)
def test_hostile_title_gives_a_file_inside_its_folder(mirror: ItemMirror, title: str) -> None:
    mirror.apply_page("wiki", Page([replace(make_page(1), title=title)], {}))

    (file,) = (path for path in mirror.folder.parent.rglob("*.md"))
    assert file.parent == mirror.files_folder / "wiki" / "page"


def test_items_equal_but_for_case_have_files_that_differ_otherwise() -> None:
    paths = {build_item_path("wiki", Item(name, "page", "Same", "")).casefold() for name in ("a", "A")}

    assert len(paths) == 2


def test_body_headings_stand_below_the_title_and_fences_are_closed() -> None:
    body = "Intro\n=====\n\n# Top\n\n```\n# code\n```\n\n## Comments\n\n```sh\nleft open"
    text = render_item("wiki", replace(make_page(1, body), comments=(ItemComment("A", None, "# Loud"),)))

    lines = text.split("\n")
    assert [line for line in lines if line.startswith("#")] == [
        "# Page 1", "## Intro", "## Top", "# code", "### Comments", "## Comments", "### A", "#### Loud",
    ]  # fmt: skip
    assert lines.count("```") == 3


def test_heading_that_repeats_the_title_is_dropped() -> None:
    assert "\n# " not in render_item("wiki", make_page(1, "# Page 1 #\n\nText.\n\n## More"))
    assert "\n## Page 1b\n" in render_item("wiki", make_page(1, "# Page 1b\n\nText."))


def test_body_cannot_become_front_matter_or_add_fields() -> None:
    item = replace(make_page(1, "---\nrun: me\n---\n"), title="A\n---\n# B", status="x\n- URL: https://evil.example")

    text = render_item("wiki", item)

    assert text.startswith("# A --- # B\n")
    assert "\n- URL:" not in text


@given(body=st.text(alphabet="# =-`~\n\ta\r\0\x85\ud800", max_size=60))
@settings(max_examples=80)
def test_any_body_is_encodable_and_keeps_its_letters(body: str) -> None:
    text = render_item("wiki", make_page(1, body))

    assert text.encode()
    assert "\0" not in text
    assert text.count("a") == body.count("a") + render_item("wiki", make_page(1, "")).count("a")
