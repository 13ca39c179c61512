import threading
from pathlib import Path

import pytest

from coderag.config.trust import trust
from coderag.errors import (
    ForbiddenRootError,
    IngestionError,
    InvalidQueryError,
    ModelUnavailableError,
    ServiceError,
)
from coderag.schema.search import Filters, SearchHits
from coderag.workspace import repository
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.support.workspaces import (
    DEADLINE_S,
    REPORT,
    FakeEngines,
    FakeWriters,
    eventually,
    hit,
    make_index,
    not_indexed,
)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Have what waits for a quiet moment happen soon."""
    monkeypatch.setattr(repository, "_FIRST_RUN_DELAY_S", 0.05)
    monkeypatch.setattr(repository, "_RETRY_S", 0.05)
    monkeypatch.setattr(repository, "DEFAULT_QUIET_S", 0.05)


@pytest.fixture
def roots(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "three", "four")]
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.fixture
def start(tmp_path):
    """Start a workspace over fake engines and a fake writer."""
    made = []

    def make(act=lambda task, writer: REPORT, **options):
        engines, writers = FakeEngines(), FakeWriters(act)
        registry = Registry(tmp_path / "data" / "repositories.json")
        made.append(
            Workspace(WorkspaceOptions(**options), registry=registry, start_writer=writers, open_engine=engines)
        )
        workspace = made[-1]
        workspace.engines, workspace.writers, workspace.events = engines, writers, []
        workspace.listen(lambda event: workspace.events.append((event.kind, Path(event.root).name)))
        return workspace

    yield make
    for workspace in made:
        workspace.close()


# Opening


def test_a_repository_is_opened_once(start, roots):
    workspace = start()
    assert workspace.open_repository(roots[0]) is workspace.open_repository(str(roots[0]))
    assert len(workspace.engines.opened) == 1


def test_a_repository_that_was_opened_is_known_by_name(start, roots):
    workspace = start()
    one = workspace.open_repository(roots[0])
    assert workspace.open_repository("one") is one
    assert workspace.open_repository("ONE") is one


def test_two_of_one_name_are_told_apart(start, tmp_path):
    for place in ("a/web", "b/web"):
        (tmp_path / place).mkdir(parents=True)
    workspace = start()
    names = [workspace.open_repository(tmp_path / place).name for place in ("a/web", "b/web")]
    assert names == ["web", "b/web"]
    assert workspace.open_repository("b/web").root == tmp_path / "b" / "web"


def test_the_names_are_those_of_other_processes_too(start, roots):
    start().open_repository(roots[0])
    assert start().open_repository("one").root == roots[0]


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(start, roots):
    workspace = start()
    workspace.open_repository(roots[0])
    with pytest.raises(IngestionError) as caught:
        workspace.open_repository("nothing-like-it")
    assert "one" in caught.value.hint


@pytest.mark.parametrize("place", ["", "a\0b", "/", "~"])
def test_what_is_no_repository_is_refused(start, place):
    with pytest.raises(IngestionError):
        start().open_repository(place)


def test_what_lies_outside_the_allowed_folders_is_neither_opened_nor_listed(start, roots):
    start().open_repository(roots[1])
    workspace = start(allowed_roots=(roots[0],))
    workspace.open_repository(roots[0])
    for place in (roots[1], "two"):
        with pytest.raises(ForbiddenRootError):
            workspace.open_repository(place)
    assert [one.name for one in workspace.list_repositories()] == ["one"]


def test_a_repository_in_another_one_is_one_of_its_own(start, roots):
    (roots[0] / "inner").mkdir()
    workspace = start()
    assert workspace.open_repository(roots[0]) is not workspace.open_repository(roots[0] / "inner")


@pytest.mark.parametrize("file", [".coderag.yaml", ".coderag.local.yaml"])
def test_other_settings_open_it_anew(start, roots, file):
    workspace = start()
    first = workspace.open_repository(roots[0])
    (roots[0] / file).write_text("version: 1\n")
    second = workspace.open_repository(roots[0])
    assert second is not first
    assert first.engine.is_closed
    assert workspace.open_repository(roots[0]) is second


def test_trusting_a_repository_opens_it_anew(start, roots):
    workspace = start()
    assert not workspace.open_repository(roots[0]).engine.trusted
    trust(roots[0])
    assert workspace.open_repository(roots[0]).engine.trusted


def test_where_the_registry_cannot_be_written_repositories_open_all_the_same(start, roots, tmp_path):
    workspace = start()
    (tmp_path / "data").write_text("in the way")
    workspace.open_repository(roots[0])
    workspace.open_repository(roots[1])
    assert {one.name for one in workspace.list_repositories()} == {"one", "two"}
    assert workspace.open_repository("two").root == roots[1]
    (tmp_path / "data").unlink()


# The least recently used


def test_beyond_the_limit_the_least_recently_used_is_closed(start, roots):
    workspace = start(max_repositories=2)
    for root in (roots[0], roots[1], roots[0], roots[2]):
        workspace.open_repository(root)
    closed = [engine.root for engine in workspace.engines.opened if engine.is_closed]
    assert closed == [roots[1]]
    assert ("closed", "two") in workspace.events


@pytest.mark.parametrize(
    ("chunks", "closed"),
    [((0, 0, 0), []), ((9_000, 9_000, 0), []), ((9_000, 9_000, 9_000), [0]), ((0, 0, 90_000), [0, 1])],
)
def test_beyond_the_memory_limit_the_least_recently_used_are_closed(start, roots, chunks, closed):
    workspace = start(watch=False, max_memory_bytes=280_000_000)
    for root, number in zip(roots, chunks, strict=False):
        make_index(root, chunks=number)
        workspace.open_repository(root)
    assert [engine.root for engine in workspace.engines.opened if engine.is_closed] == [roots[each] for each in closed]


def test_one_that_is_in_use_is_not_closed(start, roots):
    workspace = start(max_repositories=1)
    with workspace.open_repository(roots[0]).keep_open() as used:
        workspace.open_repository(roots[1])
        assert not used.engine.is_closed
    workspace.open_repository(roots[2])
    assert used.engine.is_closed


def test_one_that_is_being_indexed_is_not_closed(start, roots):
    go_on = threading.Event()

    def act(task, writer):
        writer.wait_for(go_on)
        return REPORT

    workspace = start(act, max_repositories=1)
    indexed = workspace.open_repository(roots[0])
    job = indexed.index()
    workspace.open_repository(roots[1])
    assert not indexed.engine.is_closed
    go_on.set()
    job.wait(DEADLINE_S)


# What is known


def test_known_repositories_say_what_they_are(start, roots):
    start().open_repository(roots[0])
    make_index(roots[1])
    workspace = start(watch=False)
    workspace.open_repository(roots[1])
    seen = {one.name: (one.is_open, one.is_indexed, one.is_there) for one in workspace.list_repositories()}
    assert seen == {"one": (False, False, True), "two": (True, True, True)}


def test_a_repository_that_is_gone_is_known_as_such(start, roots):
    start().open_repository(roots[0])
    roots[0].rmdir()
    (gone,) = start().list_repositories()
    assert not gone.is_there
    assert not gone.is_indexed


@pytest.mark.parametrize("by", ["name", "folder"])
def test_what_is_forgotten_is_closed_and_not_known(start, roots, by):
    workspace = start()
    one = workspace.open_repository(roots[0])
    assert workspace.forget("one" if by == "name" else roots[0])
    assert one.engine.is_closed
    assert workspace.list_repositories() == []
    assert not workspace.forget("one")


def test_what_is_gone_can_be_forgotten(start, roots):
    start().open_repository(roots[0])
    roots[0].rmdir()
    assert start().forget("one")
    assert start().list_repositories() == []


# Indexed or not


def test_whether_it_is_indexed_is_seen_at_once(start, roots):
    one = start().open_repository(roots[0])
    assert not one.is_indexed
    make_index(roots[0])
    assert one.is_indexed


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_a_damaged_index_is_none(start, roots, content):
    make_index(roots[0])
    (roots[0] / ".coderag" / "v1" / "CURRENT").write_bytes(content)
    assert not start().open_repository(roots[0]).is_indexed


def test_an_index_with_other_words_is_none(start, roots):
    make_index(roots[0], tokenizer=99)
    assert not start().open_repository(roots[0]).is_indexed


def test_another_generation_is_told_whoever_wrote_it(start, roots):
    workspace = start(watch=False)
    workspace.open_repository(roots[0])
    make_index(roots[0], 1)
    workspace.open_repository(roots[0])
    workspace.open_repository(roots[0])
    make_index(roots[0], 2)
    workspace.open_repository(roots[0])
    assert workspace.events.count(("generation", "one")) == 2


def test_a_generation_that_a_job_made_is_told_and_opened_before_the_next_question(start, roots):
    def act(task, writer):
        make_index(Path(task.root), 2)
        return REPORT

    workspace = start(act)
    one = workspace.open_repository(roots[0])
    one.index().wait(DEADLINE_S)
    eventually(lambda: ("generation", "one") in workspace.events)
    eventually(lambda: one.engine.opened == 1)


# Jobs


def test_a_job_can_be_found_by_its_id(start, roots):
    workspace = start()
    job = workspace.open_repository(roots[0]).index()
    assert workspace.find_job(job.id) is job
    assert workspace.find_job("nothing") is None
    assert workspace.list_jobs() == [job]
    job.wait(DEADLINE_S)
    assert workspace.open_repository(roots[0]).job is job


def test_a_job_outlives_the_opening_of_its_repository_with_other_settings(start, roots):
    go_on = threading.Event()

    def act(task, writer):
        writer.wait_for(go_on)
        return REPORT

    workspace = start(act)
    job = workspace.open_repository(roots[0]).index()
    (roots[0] / ".coderag.yaml").write_text("version: 1\n")
    assert workspace.open_repository(roots[0]).job is job
    go_on.set()
    assert job.wait(DEADLINE_S).state == "done"


def test_closing_a_repository_ends_its_job(start, roots):
    def act(task, writer):
        writer.wait_for(threading.Event())

    one = start(act).open_repository(roots[0])
    job = one.index()
    one.close()
    assert job.wait(DEADLINE_S).state == "cancelled"


# Edits


def test_edits_are_indexed_as_one_job_that_is_told_the_paths(start, roots):
    make_index(roots[0])
    workspace = start()
    one = workspace.open_repository(roots[0])
    eventually(lambda: one.job and one.job.view.state == "done")  # what happened before it was opened
    assert workspace.writers.tasks[0].edited is None
    for number in range(200):
        one.engine.on_edited([f"{number}.py"])
    eventually(lambda: len(workspace.writers.tasks) == 2)
    assert len(workspace.writers.tasks[1].edited) == 200
    assert ("edited", "one") in workspace.events


def test_edits_of_a_repository_that_is_not_indexed_begin_nothing(start, roots):
    workspace = start()
    one = workspace.open_repository(roots[0])
    one.engine.on_edited(["a.py"])
    eventually(lambda: one._edits._timer is None)
    assert workspace.list_jobs() == []


def test_a_repository_is_followed_from_its_first_index_on(start, roots):
    def act(task, writer):
        make_index(Path(task.root))
        return REPORT

    one = start(act).open_repository(roots[0])
    assert not one.engine.follows
    one.index().wait(DEADLINE_S)
    eventually(lambda: one.engine.follows)


def test_without_watching_nothing_is_followed_and_nothing_begun(start, roots):
    make_index(roots[0])
    workspace = start(watch=False)
    one = workspace.open_repository(roots[0])
    one.engine.on_edited(["a.py"])
    one.index().wait(DEADLINE_S)
    assert not one.engine.follows
    assert len(workspace.list_jobs()) == 1


def test_after_a_failure_the_next_run_walks_and_comes_by_itself(start, roots):
    make_index(roots[0])
    failing = threading.Event()

    def act(task, writer):
        if failing.is_set():
            failing.clear()
            raise ModelUnavailableError("no answer")
        return REPORT

    workspace = start(act)
    one = workspace.open_repository(roots[0])
    eventually(lambda: one.job and one.job.view.state == "done")
    failing.set()
    one.engine.on_edited(["a.py"])
    eventually(lambda: len(workspace.writers.tasks) == 3)
    assert [task.edited for task in workspace.writers.tasks] == [None, ["a.py"], None]


def test_where_anything_may_have_been_edited_the_next_run_walks(start, roots):
    make_index(roots[0])
    workspace = start()
    one = workspace.open_repository(roots[0])
    eventually(lambda: one.job and one.job.view.state == "done")
    one.engine.on_edited(["a.py", ""])
    eventually(lambda: len(workspace.writers.tasks) == 2)
    assert workspace.writers.tasks[1].edited is None


# Several repositories


def test_several_are_asked_and_each_result_says_which_it_is_of(start, roots):
    workspace = start()
    workspace.engines.found = {
        "one": SearchHits([hit("a")], evidence="weak", confidence=0.4),
        "two": SearchHits([hit("b")], evidence="found", confidence=0.9),
        "three": not_indexed(roots[2]),
    }
    found = workspace.search("what is this", [*roots[:3], "nowhere"])
    assert [(one.repository, one.hit.name) for one in found.hits] == [("two", "b"), ("one", "a")]
    assert [(one.repository, one.evidence) for one in found.verdicts[:2]] == [("one", "weak"), ("two", "found")]
    assert "not indexed yet" in found.verdicts[2].error
    assert "nowhere" in found.verdicts[3].error


def test_a_repository_that_is_named_twice_is_asked_once(start, roots):
    workspace = start()
    workspace.engines.found = {"one": SearchHits([hit("a")])}
    workspace.open_repository(roots[0])
    found = workspace.search("what is this", ["one", roots[0], str(roots[0])])
    assert len(found.hits) == len(found.verdicts) == 1


@pytest.mark.parametrize(
    ("query", "options"),
    [(" ", {}), ("x" * 70_000, {}), ("q", {"top_k": 0}), ("q", {"filters": Filters(complexity=(5, 2))})],
)
def test_a_question_that_cannot_be_asked_is_an_error_for_all(start, roots, query, options):
    with pytest.raises(InvalidQueryError):
        start().search(query, roots, **options)


def test_more_repositories_than_may_be_open_can_be_searched(start, roots):
    workspace = start(max_repositories=1)
    workspace.engines.found = {root.name: SearchHits([hit(root.name)]) for root in roots}
    assert {one.repository for one in workspace.search("what is this", roots).hits} == {root.name for root in roots}


# Listening and closing


def test_who_has_stopped_listening_hears_nothing(start, roots):
    workspace, heard = start(), []
    end = workspace.listen(heard.append)
    end()
    end()
    workspace.open_repository(roots[0]).index().wait(DEADLINE_S)
    assert not heard


def test_after_closing_nothing_runs_and_nothing_opens(start, roots):
    make_index(roots[0])
    workspace = start()
    one = workspace.open_repository(roots[0])
    one.engine.on_edited(["a.py"])
    workspace.close()
    workspace.close()
    assert one.engine.is_closed
    with pytest.raises(ServiceError):
        workspace.open_repository(roots[0])
    with pytest.raises(ServiceError):
        one.index()
    names = {thread.name for thread in threading.enumerate()}
    assert names.isdisjoint({"edits", "index jobs"})


def test_many_threads_open_and_search_side_by_side(start, roots):
    workspace = start(max_repositories=2)
    faults = []

    def use(number):
        try:
            for step in range(8):
                root = roots[(number + step) % len(roots)]
                workspace.open_repository(root).engine.search("q")
                workspace.search("what", [root])
                workspace.list_repositories()
        except Exception as error:  # noqa: BLE001  # whatever it is, there may be none
            faults.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert not faults
    assert sum(not engine.is_closed for engine in workspace.engines.opened) <= 4
