from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from coderag import CodeRAG
from coderag.errors import ConfigurationError, InvalidQueryError
from coderag.schema.mirrored_items import SourceRun
from coderag.sources.sync_lock import lock_mirror
from coderag.sources.synchronization import SyncProgress


class NoteReader:
    def load_data(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(text="Remember the milk.", id_="milk", metadata={"author": "Ada"})]


@pytest.fixture
def rag(tmp_path: Path) -> CodeRAG:
    root = tmp_path / "repo"
    (root / "handbook").mkdir(parents=True)
    (root / "handbook" / "rules.md").write_text("# Rules\n\nBe kind.\n")
    return CodeRAG(root, sources={"handbook": {"system": "files", "path": "handbook"}})


def test_configured_and_added_sources_are_synchronised(rag: CodeRAG) -> None:
    rag.sources.add_reader("notes", NoteReader(), "backlog")
    steps: list[SyncProgress] = []
    runs = rag.sources.sync(on_progress=steps.append)

    assert [(run.source, run.outcome, run.changes.added) for run in runs] == [
        ("handbook", "complete", 1),
        ("notes", "complete", 1),
    ]
    assert {step.source for step in steps} == {"handbook", "notes"}
    item = rag.sources.mirror.get("notes", "milk")
    assert item is not None
    assert item.kind == "ticket"
    assert [(status.name, status.system, status.counts.items) for status in rag.sources.status()] == [
        ("handbook", "files", 1),
        ("notes", "reader", 1),
    ]
    assert "handbook" in rag.sources.check("handbook")


def test_nothing_is_created_before_the_first_synchronisation(rag: CodeRAG) -> None:
    assert [status.last_run for status in rag.sources.status()] == [None]
    assert rag.sources.remove("handbook") == 0
    assert not (rag.root / ".coderag").exists()


def test_running_and_killed_runs_are_told_apart(rag: CodeRAG) -> None:
    rag.sources.sync()
    started = SourceRun("handbook", datetime.now(UTC), None, "incomplete", "the run was killed")
    with lock_mirror(rag.sources.mirror.folder), rag.sources.mirror.record_run(started):
        assert rag.sources.status()[0].is_running
    status = rag.sources.status()[0]
    assert (status.is_running, status.last_run) == (False, started)


def test_unknown_and_doubtful_names_are_refused(rag: CodeRAG) -> None:
    with pytest.raises(InvalidQueryError, match="there are: handbook"):
        rag.sources.sync("wiki")
    with pytest.raises(InvalidQueryError, match="already"):
        rag.sources.add_reader("handbook", NoteReader())
    with pytest.raises(ConfigurationError, match="not a name of a source"):
        rag.sources.add_reader("../x", NoteReader())


def test_removed_source_can_be_synchronised_again(rag: CodeRAG) -> None:
    rag.sources.sync()
    assert rag.sources.remove("handbook") == 1
    assert rag.sources.sync()[0].changes.added == 1
    rag.close()


def test_people_are_masked_as_the_settings_say(tmp_path: Path) -> None:
    rag = CodeRAG(tmp_path, privacy={"mask_people": True})
    rag.sources.add_reader("notes", NoteReader())
    rag.sources.sync()

    item = rag.sources.mirror.get("notes", "milk")
    assert item is not None
    assert "Ada" not in f"{item} {rag.sources.mirror.read_text(item)}"
    assert list(item.people) == ["author"]
