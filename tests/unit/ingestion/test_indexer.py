import os
from dataclasses import replace
from pathlib import Path

import pytest
from llama_index.core.schema import TransformComponent

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, IndexLockedError
from coderag.ingestion import indexer
from coderag.ingestion.files import changes
from coderag.ingestion.indexer import Indexer
from coderag.ingestion.workers import jobs
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.providers import make_dense_model
from coderag.stores.field_counts import FIELDS
from coderag.stores.index_store import EmbeddingInfo, IndexStore
from tests.support.indexes import assert_same_index

FILES = {
    "shop/cart.py": 'class Cart:\n    """Items to buy."""\n\n    def add(self, item):\n        self.items.append(item)\n',
    "shop/money.py": "def exchange(money, currency):\n    return money\n",
    "README.md": "# Shop\n\nIt sells things.\n",
}


@pytest.fixture(scope="module")
def model():
    return make_dense_model(EmbeddingSettings())


class Workplace:
    """A repository, its store, and what is done to both."""

    def __init__(self, root, model):
        self.root = root
        self.model = model
        self.store = IndexStore(root / ".coderag")
        self.settings = Settings()
        self.read = []
        self.progress = []

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text) if isinstance(text, bytes) else file.write_text(text, encoding="utf-8")

    def index(self, *, full=False, model=None, **ingestion):
        """Index in this process, so that what is read can be counted; worker processes have tests of their own."""
        ingestion = {"workers": 0, **ingestion}
        settings = self.settings.model_copy(update={"ingestion": self.settings.ingestion.model_validate(ingestion)})
        self.read.clear()
        return Indexer(self.root, settings, self.store, model or self.model, self.progress.append).run(full=full)

    def chunks(self):
        table = self.store.open().read_chunks(["path", "qualified_name", "id"])
        return [(row["path"], row["qualified_name"], row["id"]) for row in table.to_pylist()]

    def paths(self):
        return {path for path, _, _ in self.chunks()}

    def records(self):
        return {record.path: record for record in self.store.open().read_files()}


@pytest.fixture
def place(tmp_path, model, monkeypatch):
    root = tmp_path / "shop"
    root.mkdir()
    workplace = Workplace(root, model)
    for path, text in FILES.items():
        workplace.write(path, text)
    read_source = jobs.read_file_text

    def counted(root, candidate, **options):
        workplace.read.append(candidate.path)
        return read_source(root, candidate, **options)

    monkeypatch.setattr(jobs, "read_file_text", counted)
    monkeypatch.setattr(changes, "_FINE_GRAIN_NS", -3_600_000_000_000)  # take what was written just now for old
    return workplace


def differences(report):
    return {
        name: getattr(report, name)
        for name in ("added", "changed", "removed", "renamed", "unchanged")
        if getattr(report, name)
    }


# The first run


def test_first_run_indexes_every_file(place):
    report = place.index()
    assert report.generation == 1
    assert differences(report) == {"added": 3}
    assert report.files == {"indexed": 3}
    assert place.paths() == set(FILES)
    assert (report.chunks, report.lines) == (len(place.chunks()), 10)
    assert report.symbols >= 4


def test_every_file_ends_with_an_outcome(place):
    place.write("logo.png", b"\x89PNG\0")
    place.write("data.py", b"\0\1\2")
    place.write("big.py", "x = 1\n" * 1_000)
    report = place.index(max_file_bytes=5_000)
    assert report.files == {"indexed": 3, "skipped": 3}
    assert report.skipped == {"binary file": 2, "larger than 5,000 bytes": 1}
    assert {path for path, record in place.records().items() if record.outcome == "skipped"} == {
        "logo.png",
        "data.py",
        "big.py",
    }


def test_record_describes_its_file(place):
    place.index()
    record = place.records()["shop/cart.py"]
    assert (record.language, record.role, record.encoding, record.lines) == ("python", "source", "utf-8", 5)
    assert (record.chunks, record.symbols, record.size) == (1, 2, len(FILES["shop/cart.py"]))


def test_unreadable_file_is_recorded_and_does_not_fail_the_run(place, monkeypatch):
    def denied(path, limit, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("coderag.ingestion.files.file_text.read_regular_file", denied)
    report = place.index()
    assert report.files == {"failed": 3}
    assert ("shop/cart.py", "permission denied") in report.failed
    monkeypatch.undo()
    assert differences(place.index()) == {"added": 3}


def test_syntax_error_is_noted_on_the_file(place):
    place.write("broken.py", "def f(:\n  x = = 1\n")
    place.index()
    assert place.records()["broken.py"].outcome == "indexed"
    assert "line 1" in place.records()["broken.py"].note


@pytest.mark.parametrize("files", [{}, {"empty.py": ""}, {"logo.png": b"\x89PNG\0"}])
def test_repository_without_code_has_an_index(tmp_path, model, files):
    place = Workplace(tmp_path, model)
    for path, content in files.items():
        place.write(path, content)
    assert place.index().generation == 1
    assert place.index().generation == 1
    assert [record.outcome for record in place.records().values()] == [
        "skipped" if path == "logo.png" else "indexed" for path in files
    ]


def test_files_added_to_an_empty_index_are_indexed(tmp_path, model):
    place = Workplace(tmp_path, model)
    place.index()
    place.write("shop/cart.py", FILES["shop/cart.py"])
    assert differences(place.index()) == {"added": 1}
    assert place.paths() == {"shop/cart.py"}


def test_index_can_become_empty_and_be_filled_again(place):
    place.index()
    for path in FILES:
        (place.root / path).unlink()
    assert differences(place.index()) == {"removed": 3}
    assert place.paths() == set()
    place.write("shop/cart.py", FILES["shop/cart.py"])
    assert differences(place.index()) == {"added": 1}
    assert place.paths() == {"shop/cart.py"}


def test_empty_index_records_its_model(tmp_path, model, other_model):
    place = Workplace(tmp_path, model)
    place.index()
    assert place.index(model=other_model).generation == 2
    assert place.store.read_pointer().embedding == OtherDense.info


def test_lines_are_counted_with_and_without_a_last_newline(place):
    for path, text in {"none.py": "", "one.py": "x = 1", "two.py": "x = 1\ny = 2\n"}.items():
        place.write(path, text)
    place.index()
    assert [place.records()[path].lines for path in ("none.py", "one.py", "two.py")] == [0, 1, 2]


# The second run


def test_second_run_reads_and_writes_nothing(place):
    place.index()
    before = place.store.read_pointer()
    report = place.index()
    assert differences(report) == {"unchanged": 3}
    assert place.read == []
    assert place.store.read_pointer() == before
    assert (report.chunks, report.generation) == (len(place.chunks()), 1)


def test_only_changed_files_are_read(place):
    place.index()
    place.write("shop/money.py", "def convert(money):\n    return money\n")
    report = place.index()
    assert place.read == ["shop/money.py"]
    assert differences(report) == {"changed": 1, "unchanged": 2}
    assert {name for path, name, _ in place.chunks() if path == "shop/money.py"} == {"convert"}


def test_chunks_of_unchanged_files_stay(place):
    place.index()
    before = [chunk for chunk in place.chunks() if chunk[0] != "shop/money.py"]
    place.write("shop/money.py", "x = 1\n")
    place.index()
    assert [chunk for chunk in place.chunks() if chunk[0] != "shop/money.py"] == before


def test_added_file_is_indexed(place):
    place.index()
    place.write("shop/order.py", "class Order: ...\n")
    assert differences(place.index()) == {"added": 1, "unchanged": 3}
    assert "shop/order.py" in place.paths()


def test_deleted_file_leaves_the_index(place):
    place.index()
    (place.root / "shop/money.py").unlink()
    assert differences(place.index()) == {"removed": 1, "unchanged": 2}
    assert "shop/money.py" not in place.paths() | place.records().keys()


def test_renamed_file_is_found_under_its_new_path_only(place):
    place.index()
    (place.root / "shop/money.py").rename(place.root / "shop/currency.py")
    assert differences(place.index()) == {"renamed": 1, "unchanged": 2}
    assert place.paths() == {"README.md", "shop/cart.py", "shop/currency.py"}


def test_two_swapped_files_are_both_reindexed(place):
    place.index()
    first, second, other = (place.root / name for name in ("shop/cart.py", "shop/money.py", "x"))
    first.rename(other), second.rename(first), other.rename(second)
    assert differences(place.index()) == {"changed": 2, "unchanged": 1}
    assert ("shop/money.py", "Cart") in {chunk[:2] for chunk in place.chunks()}


def test_change_with_equal_mtime_and_size_is_detected(place, monkeypatch):
    monkeypatch.setattr(changes, "_FINE_GRAIN_NS", 3_600_000_000_000)
    place.write("shop/money.py", "rate = 1\n")
    stat = (place.root / "shop/money.py").stat()
    place.index()
    place.write("shop/money.py", "rate = 2\n")
    os.utime(place.root / "shop/money.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    report = place.index()
    assert differences(report) == {"changed": 1, "unchanged": 2}
    row = place.store.open().read_chunks(["path"])["path"].to_pylist().index("shop/money.py")
    assert place.store.open().read_texts([row]) == ["rate = 2\n"]


def test_touched_file_is_read_and_stays_unchanged(place):
    place.index()
    os.utime(place.root / "shop/money.py")
    report = place.index()
    assert place.read == ["shop/money.py"]
    assert differences(report) == {"unchanged": 3}
    assert report.generation == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\0\1\2", "binary file"),
        ("x = 1\n" * 1_000, "larger than 5,000 bytes"),
        ("# Code generated by x. DO NOT EDIT.\n", "generated file"),
    ],
)  # fmt: skip
def test_file_that_becomes_unindexable_is_removed(place, content, reason):
    place.index(max_file_bytes=5_000, generated=False)
    place.write("shop/money.py", content)
    report = place.index(max_file_bytes=5_000, generated=False)
    assert differences(report) == {"removed": 1, "unchanged": 2}
    assert "shop/money.py" not in place.paths()
    assert place.records()["shop/money.py"].reason == reason
    place.write("shop/money.py", FILES["shop/money.py"])
    assert differences(place.index(max_file_bytes=5_000, generated=False)) == {"added": 1, "unchanged": 2}


def test_generated_code_follows_the_setting(place):
    place.write("shop/wire.py", "# Code generated by x. DO NOT EDIT.\ndef wire():\n    pass\n")
    place.index()
    assert place.records()["shop/wire.py"].role == "generated"
    place.index(generated=False)
    assert place.records()["shop/wire.py"].reason == "generated file"
    place.index()
    assert "shop/wire.py" in place.paths()


def test_file_that_becomes_ignored_is_removed(place):
    place.index()
    place.write(".coderagignore", "money.py\n")
    report = place.index()
    assert report.removed == 1
    assert place.paths() & FILES.keys() == FILES.keys() - {"shop/money.py"}


def test_emptied_file_loses_its_old_chunks(place):
    place.index()
    place.write("shop/money.py", "")
    place.index()
    clean = IndexStore(place.root.parent / "clean")
    Indexer(place.root, place.settings, clean, place.model).run()
    assert file_vectors(place.store) == file_vectors(clean)


def file_vectors(store):
    snapshot = store.open()
    content, paths = snapshot.read_file_vectors()
    return {
        record.path: (content[row].tolist(), paths[row].tolist()) for row, record in enumerate(snapshot.read_files())
    }


# What makes everything anew


@pytest.mark.parametrize(
    "change",
    [
        {"chunk": {"max_tokens": 60, "min_tokens": 0}},
        {"transformations": ("llama_index.core.extractors:TitleExtractor",)},
    ],
)
def test_changed_chunking_settings_rebuild_the_index(place, change, monkeypatch):
    from llama_index.core.schema import TransformComponent

    class Same(TransformComponent):
        def __call__(self, nodes, **kwargs):
            return nodes

    monkeypatch.setattr("llama_index.core.extractors.TitleExtractor", Same)
    place.index()
    place.index(**change)
    assert sorted(place.read) == sorted(FILES)
    assert place.store.read_pointer().generation == 2
    place.index(**change)
    assert place.read == []


def test_changed_repository_name_rebuilds_the_index(place):
    place.index()
    before = {chunk[2] for chunk in place.chunks()}
    place.settings = Settings(project="other")
    place.index()
    assert not before & {chunk[2] for chunk in place.chunks()}


def test_changed_search_settings_do_not_rebuild(place):
    place.index()
    place.settings = Settings(search={"top_k": 3})
    assert place.index().generation == 1


def test_full_run_keeps_the_old_generation_until_the_commit(place):
    place.index()
    place.index(full=True)
    assert sorted(place.read) == sorted(FILES)
    assert place.store.read_pointer().generation == 2


class Same(TransformComponent):
    """Changes nothing."""

    def __call__(self, nodes, **kwargs):
        return nodes


class OtherDense(EmbeddedDense):
    """The embedded model under another name."""

    info = EmbeddingInfo("ollama", "nomic-embed-text", 256)


@pytest.fixture
def other_model(model):
    return OtherDense(model._words)


def test_model_switch_embeds_all_chunks_without_reading_files(place, other_model):
    place.index()
    before = place.chunks()
    report = place.index(model=other_model)
    assert place.read == []
    assert differences(report) == {"unchanged": 3}
    assert report.embedded == len(before)
    assert "embedded/" in report.reembedded
    assert "to ollama/nomic-embed-text (256 dimensions)" in report.reembedded
    assert sorted(place.chunks()) == sorted(before)
    assert place.store.read_pointer().embedding == OtherDense.info
    again = place.index(model=other_model)
    assert (again.generation, again.embedded, again.reembedded) == (2, 0, "")


def test_model_switch_also_indexes_changed_files(place, other_model):
    place.index()
    place.write("shop/money.py", "def change(money):\n    return money\n")
    place.write("shop/new.py", "def new():\n    return 1\n")
    (place.root / "README.md").unlink()
    report = place.index(model=other_model)
    assert sorted(place.read) == ["shop/money.py", "shop/new.py"]
    assert differences(report) == {"added": 1, "changed": 1, "removed": 1, "unchanged": 1}
    fresh = Workplace(place.root, other_model)
    fresh.store = IndexStore(place.root.parent / "fresh")
    fresh.index()
    assert_same_index(place.store.open(), fresh.store.open())


def test_model_switch_keeps_chunks_of_files_with_inconclusive_status(place, other_model, monkeypatch):
    place.index()
    monkeypatch.setattr(
        changes, "_FINE_GRAIN_NS", 3_600_000_000_000
    )  # written just now: it is read, and is what it was
    report = place.index(model=other_model)
    assert len(place.read) == 3
    assert differences(report) == {"unchanged": 3}
    assert place.paths() == set(FILES)


def test_model_switch_reports_progress_in_texts(place, other_model):
    place.index()
    n_texts = len(place.chunks()) + len(FILES)
    place.progress.clear()
    place.index(model=other_model)
    embedded = [(step.done, step.total) for step in place.progress if step.stage == "embed"]
    assert embedded == [(0, n_texts), (n_texts, n_texts)]


def test_model_switch_runs_transformations(place, other_model):
    same = (f"{__name__}:Same",)
    place.index(transformations=same)
    report = place.index(model=other_model, transformations=same)
    assert len(place.read) == 3
    assert report.reembedded
    assert place.store.read_pointer().embedding == OtherDense.info


def test_full_run_accepts_another_model(place, other_model):
    place.index()
    place.index(model=other_model, full=True)
    assert place.store.read_pointer().embedding == OtherDense.info
    assert place.index(model=other_model).generation == 2


# The run itself


def test_invalid_transformation_is_an_error_and_keeps_the_index(place):
    place.index()
    before = place.store.read_pointer()
    with pytest.raises(ConfigurationError, match=r"ingestion\.transformations: 'no\.such:Thing'"):
        place.index(transformations=("no.such:Thing",))
    assert place.store.read_pointer() == before
    assert place.index().generation == 1


def test_worker_processes_build_the_same_index_as_one_process(tmp_path, model, monkeypatch):
    monkeypatch.setattr(indexer, "_MIN_JOB_BYTES", 5_000)
    monkeypatch.setattr(indexer, "_MAX_JOB_BYTES", 5_000)
    places = {}
    for name, workers in (("one", 0), ("many", 2)):
        (tmp_path / name / "repo").mkdir(parents=True)
        place = Workplace(tmp_path / name / "repo", model)
        for number in range(12):
            body = "\n".join(f"def f{number}_{line}():\n    return {line} + number_{number}" for line in range(90))
            place.write(f"pkg/module{number}.py", body + "\n")
        place.index(workers=workers)
        assert len({step.done for step in place.progress if step.stage == "chunk"}) > 2
        places[name] = place
    assert places["one"].chunks() == places["many"].chunks()
    ours = {"mtime_ns": 0, "ctime_ns": 0, "inode": 0}
    assert [replace(record, **ours) for record in places["one"].records().values()] == [
        replace(record, **ours) for record in places["many"].records().values()
    ]
    single, many = (places[name].store.open() for name in ("one", "many"))
    assert single.read_terms() == many.read_terms()
    assert abs(single.read_vectors() - many.read_vectors()).max() < 1e-6
    assert counts(single) == counts(many)


def counts(snapshot):
    """Return each chunk's term counts by field; two indexes may number the same terms differently."""
    terms, fields = snapshot.read_terms(), snapshot.read_counts()
    return [
        {terms[column]: int(value) for column, value in zip(row.indices, row.data, strict=True)}
        for field in FIELDS
        for row in getattr(fields, field)
    ]


def test_progress_covers_all_stages(place):
    place.index()
    stages = [step.stage for step in place.progress]
    assert list(dict.fromkeys(stages)) == ["scan", "chunk", "commit"]
    chunked = [step for step in place.progress if step.stage == "chunk"]
    assert [(step.done, step.total) for step in chunked] == [(3, 3)]
    assert (place.progress[-1].done, place.progress[-1].total) == (1, 1)


def test_report_has_seconds_of_stages(place):
    report = place.index()
    assert {"scan", "parse", "embed", "store", "commit"} <= report.seconds.keys()
    assert {"read", "parse", "query", "chunk", "summarise", "count terms", "columns"} <= report.worker_seconds.keys()
    assert all(value >= 0 for value in (*report.seconds.values(), *report.worker_seconds.values()))
    assert (report.bytes_read, report.lines_read) == (sum(map(len, FILES.values())), 10)


def test_second_writer_is_refused(place):
    with place.store.open_writer(), pytest.raises(IndexLockedError):
        place.index()


def test_error_during_a_run_keeps_the_last_generation(place):
    place.index()
    before = place.chunks()
    place.write("shop/money.py", "x = 1\n")

    def stop(step):
        if step.stage == "commit":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Indexer(place.root, place.settings, place.store, place.model, stop).run()
    assert place.chunks() == before
    assert differences(place.index()) == {"changed": 1, "unchanged": 2}


def test_index_folder_is_not_indexed(place):
    place.store = IndexStore(place.root / "build" / "index")
    place.index()
    place.index()
    assert {Path(path).parts[0] for path in place.records()} == {"shop", "README.md"}
