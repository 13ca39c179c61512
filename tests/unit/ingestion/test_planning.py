"""What is said of a run before it, against the run itself."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from llama_index.core.schema import BaseNode, TransformComponent

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.ingestion import planning
from coderag.ingestion.indexer import Indexer
from coderag.ingestion.planning import plan_index
from coderag.models.dense import DenseModel
from coderag.models.providers import OLLAMA_MODEL, make_dense_model
from coderag.schema.index_plan import EmbeddingPlan, Exclusion, FileTotals, IndexPlan
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import read_manifest, write_manifest
from coderag.stores.pointer import EmbeddingInfo

FUNCTION = "def f{0}(x):\n    return x + {0}\n\n\n"
HOUR_NS = 3_600 * 10**9


@pytest.fixture(scope="module")
def model() -> DenseModel:
    return make_dense_model(EmbeddingSettings())


class Workplace:
    """A repository that can be planned and indexed."""

    def __init__(self, root: Path, model: DenseModel) -> None:
        self.root = root
        self._model = model
        self.store = IndexStore(root / ".coderag")
        self.settings = Settings(ingestion={"workers": 0})  # type: ignore[arg-type]

    def put(self, path: str, content: str | bytes = "x = 1\n") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def index(self) -> None:
        """Index, as if a while after the files were written: else their times would prove nothing."""
        Indexer(self.root, self.settings, self.store, self._model).run()
        pointer = self.store.read_pointer()
        assert pointer is not None
        manifest = read_manifest(self.store.directory, pointer)
        assert manifest is not None
        later = replace(manifest, checked_ns=manifest.checked_ns + HOUR_NS)
        write_manifest(self.store.directory, pointer, later)

    def plan(self, *, full: bool = False, **embedding: object) -> IndexPlan:
        section = self.settings.embedding.model_validate(embedding)
        return plan_index(self.root, self.settings.model_copy(update={"embedding": section}), self.store, full=full)


@pytest.fixture
def place(tmp_path: Path, model: DenseModel) -> Workplace:
    root = tmp_path / "shop"
    root.mkdir()
    return Workplace(root.resolve(), model)


def test_first_run_reads_every_file(place: Workplace) -> None:
    place.put("src/a.py", FUNCTION.format(1))
    place.put("src/b.go", "package b\n")
    plan = place.plan()
    assert (plan.generation, plan.rebuild, plan.is_up_to_date) == (0, "", False)
    assert (plan.new, plan.changed, plan.unchanged, plan.removed) == (2, 0, 0, 0)
    assert plan.total == plan.to_read == FileTotals(2, sum(len(text) for text in (FUNCTION.format(1), "package b\n")))
    assert plan.directory == str(place.root / ".coderag")


def test_nothing_is_written(place: Workplace) -> None:
    place.put("a.py")
    place.plan()
    assert [path.name for path in place.root.rglob("*")] == ["a.py"]


def test_empty_repository_has_an_empty_plan(place: Workplace) -> None:
    plan = place.plan()
    assert (plan.total, plan.languages, plan.folders, plan.excluded) == (FileTotals(), {}, {}, [])


def test_indexed_files_are_compared_by_status(place: Workplace) -> None:
    for name in ("same", "changed", "gone"):
        place.put(f"{name}.py", FUNCTION.format(name))
    place.index()
    place.put("changed.py", FUNCTION.format("2") * 2)
    place.put("added.py")
    (place.root / "gone.py").unlink()
    plan = place.plan()
    assert (plan.generation, plan.new, plan.changed, plan.unchanged, plan.removed) == (1, 1, 1, 1, 1)
    assert plan.total.files == 3
    assert plan.to_read == FileTotals(2, 2 * len(FUNCTION.format("2")) + len("x = 1\n"))
    assert not plan.is_up_to_date


def test_up_to_date_index_has_no_work_and_exact_chunks(place: Workplace) -> None:
    place.put("a.py", "".join(FUNCTION.format(number) for number in range(100)))
    place.index()
    plan = place.plan()
    assert plan.is_up_to_date
    assert plan.chunks.low == plan.chunks.high == len(place.store.open().read_chunks(["id"]))
    assert plan.seconds.high < 1


def test_full_run_reads_everything_again(place: Workplace) -> None:
    place.put("a.py")
    place.index()
    plan = place.plan(full=True)
    assert (plan.new, plan.unchanged) == (1, 0)


@pytest.mark.parametrize("embedding", [{"provider": "ollama"}, {"provider": "openai", "model": "m"}])
def test_another_embedding_model_plans_new_vectors(place: Workplace, embedding: dict[str, str]) -> None:
    place.put("a.py", "".join(FUNCTION.format(number) for number in range(100)))
    place.index()
    plan = place.plan(**embedding)
    assert (plan.generation, plan.rebuild, plan.to_read.files, plan.unchanged) == (1, "", 0, 1)
    assert plan.reembed.startswith("the embedding model changes from embedded/")
    assert plan.reembed.endswith(f" to {embedding['provider']}/{embedding.get('model', OLLAMA_MODEL)}")
    assert not plan.is_up_to_date
    assert plan.embedding is not None
    n_chunks = len(place.store.open())
    assert (plan.embedding.texts.low, plan.embedding.texts.high) == (n_chunks + 1, n_chunks + 1)
    assert plan.embedding.tokens.high >= plan.embedding.tokens.low > 0


def test_model_switch_plan_includes_changed_files(place: Workplace) -> None:
    place.put("a.py", FUNCTION.format(1))
    place.index()
    place.put("b.py", FUNCTION.format(2) * 100)
    alone = place.plan(provider="ollama").embedding
    (place.root / "b.py").unlink()
    without = place.plan(provider="ollama").embedding
    assert alone is not None
    assert without is not None
    assert alone.texts.low > without.texts.low
    assert alone.tokens.low > without.tokens.low


def test_another_embedded_model_version_plans_new_vectors(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("a.py")
    place.index()
    assert place.plan().is_up_to_date
    monkeypatch.setattr(planning, "describe_configured_embedding", lambda settings, recorded: "embedded/words-9")
    plan = place.plan()
    assert plan.reembed.endswith(" to embedded/words-9")
    assert plan.embedding is None
    assert plan.seconds.high > 0


class Same(TransformComponent):
    """Changes nothing."""

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: object) -> Sequence[BaseNode]:
        return nodes


def test_switch_with_transformations_reads_every_file(place: Workplace) -> None:
    place.settings = Settings(ingestion={"workers": 0, "transformations": [f"{__name__}:Same"]})  # type: ignore[arg-type]
    place.put("a.py")
    place.index()
    plan = place.plan(provider="ollama")
    assert plan.rebuild.endswith(f" to ollama/{OLLAMA_MODEL}")
    assert (plan.new, plan.unchanged) == (1, 0)


def test_another_dimension_of_the_same_model_is_a_switch() -> None:
    recorded = EmbeddingInfo("ollama", OLLAMA_MODEL, 768)
    for dimension, words in ((None, ""), (768, ""), (256, f"ollama/{OLLAMA_MODEL} (256 dimensions)")):
        settings = EmbeddingSettings(provider="ollama", dimension=dimension)
        assert planning.describe_configured_embedding(settings, recorded) == (words or recorded.name)


def test_plan_reports_model_switch_and_changed_chunking(place: Workplace) -> None:
    place.put("a.py")
    place.index()
    place.settings = Settings(ingestion={"workers": 0, "chunk": {"max_tokens": 500}})  # type: ignore[arg-type]
    plan = place.plan(provider="ollama")
    assert "another way" in plan.rebuild
    assert "to ollama/" in plan.reembed
    assert plan.new == 1


def test_changed_chunking_plans_a_rebuild(place: Workplace) -> None:
    place.put("a.py")
    place.index()
    place.settings = Settings(ingestion={"workers": 0, "chunk": {"max_tokens": 500}})  # type: ignore[arg-type]
    plan = place.plan()
    assert "another way" in plan.rebuild
    assert plan.new == 1


def test_damaged_index_plans_a_rebuild_with_the_reason(place: Workplace) -> None:
    place.put("a.py")
    place.index()
    (place.root / ".coderag" / "v1" / "CURRENT").write_text("{")
    assert "pointer" in place.plan().rebuild
    assert place.plan().new == place.plan(full=True).new == 1


def test_languages_are_detected_by_name_then_by_first_line(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("a.py", "#!/bin/sh\n")
    place.put("Makefile", "all:\n")
    place.put("notes.txt", "#!/usr/bin/env ruby\n")
    place.put("tool", "#!/usr/bin/env python3\n" + "x = 1\n" * 1_000)
    place.put("data.unknown", b"\xff\xfe\x00")
    opened = []
    read = planning.read_regular_file
    monkeypatch.setattr(
        planning, "read_regular_file", lambda path, limit: opened.append((path.name, limit)) or read(path, limit)
    )
    languages = place.plan().languages
    assert {name: totals.files for name, totals in languages.items()} == {"python": 2, "make": 1, "text": 2}
    assert next(iter(languages)) == "python", "the most bytes first"
    assert sorted(opened) == [("data.unknown", 200), ("tool", 200)]


def test_file_that_vanishes_before_its_first_line_is_read_is_text(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, limit: int) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(planning, "read_regular_file", fail)
    place.put("tool", "#!/bin/sh\n")
    assert list(place.plan().languages) == ["text"]


def test_plan_lists_the_largest_informative_folders(place: Workplace) -> None:
    place.put("src/main/java/app/big.java", "x" * 5_000)
    place.put("src/main/java/app/deep/small.java", "x" * 1_000)
    place.put("docs/a.md", "x" * 3_000)
    place.put("top.py", "x" * 100)
    assert place.plan().folders == {
        "src/main/java/app/": FileTotals(2, 6_000),
        "docs/": FileTotals(1, 3_000),
        "src/main/java/app/deep/": FileTotals(1, 1_000),
    }


def test_plan_lists_at_most_ten_folders(place: Workplace) -> None:
    for number in range(15):
        place.put(f"d{number:02}/a.py", "x" * (100 - number))
    assert list(place.plan().folders) == [f"d{number:02}/" for number in range(10)]


def test_exclusions_are_counted_by_reason(place: Workplace) -> None:
    place.put(".gitignore", "*.log\nout/\n")
    for path in ("a.log", "src/b.log", "out/a.py", "uv.lock", "logo.png", "a.py", "src/a.py"):
        place.put(path)
    (place.root / "one").symlink_to("a.py")
    (place.root / "two").symlink_to("src")
    plan = place.plan()
    assert plan.total.files == 3
    assert plan.excluded == [
        Exclusion("ignored by .gitignore: *.log", 2, 0, "a.log"),
        Exclusion("symbolic link inside the repository", 2, 0, "one"),
        Exclusion("binary file", 1, 0, "logo.png"),
        Exclusion("ignored by .gitignore: out/", 0, 1, "out/"),
        Exclusion("lock file", 1, 0, "uv.lock"),
    ]


def test_files_skipped_by_content_are_excluded(place: Workplace) -> None:
    place.put("a.py")
    place.put("requirements.txt", "# Code generated by x. DO NOT EDIT.\n")
    assert place.plan().total.files == 2
    place.index()
    plan = place.plan()
    assert plan.total.files == 1
    assert Exclusion("generated file", 1, 0, "requirements.txt") in plan.excluded
    assert plan.is_up_to_date


def test_inaccessible_files_have_failed(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("d/a.py")
    listing = os.scandir

    def refuse(path: "os.DirEntry[str] | Path") -> object:
        if Path(path).name == "d":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr("coderag.ingestion.files.scanner.os.scandir", refuse)
    assert place.plan().failed == [("d/", "permission denied")]


def test_embedded_model_needs_no_requests(place: Workplace) -> None:
    place.put("a.py")
    assert place.plan().embedding is None


def test_plan_cost_is_the_cost_of_the_tokens(place: Workplace) -> None:
    place.put("a.py", FUNCTION.format(1) * 1_000)
    plan = place.plan(provider="openai", model="m", price_per_million_tokens=0.5)
    embedding = plan.embedding
    assert isinstance(embedding, EmbeddingPlan)
    assert (embedding.provider, embedding.model, embedding.price_per_million_tokens) == ("openai", "m", 0.5)
    assert embedding.texts.low == plan.chunks.low + 1, "the file's path is a text, too"
    assert embedding.cost is not None
    assert embedding.cost.low == pytest.approx(embedding.tokens.low * 0.5e-6)
    assert embedding.cost.high == pytest.approx(embedding.tokens.high * 0.5e-6)


def test_without_a_price_there_is_no_cost(place: Workplace) -> None:
    place.put("a.py")
    embedding = place.plan(provider="ollama").embedding
    assert isinstance(embedding, EmbeddingPlan)
    assert (embedding.model, embedding.cost) == (OLLAMA_MODEL, None)
    free = place.plan(provider="openai", model="m", price_per_million_tokens=0).embedding
    assert free is not None
    assert free.cost is not None
    assert free.cost.high == 0
