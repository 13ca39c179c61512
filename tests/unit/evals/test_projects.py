"""Golden sets about several projects, each at its revision."""

import json
import subprocess
from pathlib import Path

import pytest

from coderag.errors import ConfigurationError, IngestionError
from evals.projects import main
from evals.runs import QuestionResult, Run, load_run
from evals.sources import ProjectSource, check_out_project, load_sources
from evals.versus import build_versus_table


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """A folder with a clone of somebody/shop, whose last commit has lost what the golden set is about."""
    folder = tmp_path / "clones" / "somebody+shop"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / "src" / "cart.py").write_text('def add(item):\n    """Put an item into the cart."""\n', encoding="utf-8")
    (folder / "docs.md").write_text("# Shop\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    (folder / "src" / "cart.py").write_text("", encoding="utf-8")
    git(folder, "commit", "--quiet", "-am", "two")
    return folder.parent


def source(clones: Path, **more: str) -> ProjectSource:
    revision = git(clones / "somebody+shop", "rev-parse", "HEAD~1")
    given = {"repository": "somebody/shop", "revision": revision, "language": "python", "licence": "MIT", **more}
    return ProjectSource.model_validate(given)


def test_the_files_are_those_of_the_revision(clones, tmp_path):
    folder = check_out_project("shop", source(clones), tmp_path / "trees", clones)
    assert "def add" in (folder / "src" / "cart.py").read_text(encoding="utf-8")
    assert (folder / "docs.md").is_file()
    assert (
        check_out_project("shop", source(clones), tmp_path / "trees", tmp_path / "nowhere") == folder
    )  # there already


def test_only_the_folder_that_is_indexed_is_laid_out(clones, tmp_path):
    folder = check_out_project("shop", source(clones, root="src"), tmp_path / "trees", clones)
    assert [path.name for path in folder.iterdir()] == ["cart.py"]
    assert not (folder.parent / "docs.md").exists()


def test_what_cannot_be_had_is_told(clones, tmp_path):
    with pytest.raises(IngestionError, match="no clone of other/shop"):
        check_out_project("shop", source(clones, repository="other/shop"), tmp_path / "trees", clones)
    with pytest.raises(IngestionError, match="git archive failed"):
        check_out_project("shop", source(clones, revision="0" * 40), tmp_path / "trees", clones)
    assert not any((tmp_path / "trees").glob("shop*")) if (tmp_path / "trees").exists() else True


def test_a_fault_in_the_sources_names_the_table(tmp_path):
    path = tmp_path / "sources.toml"
    path.write_text('[shop]\nrepository = "shop"\nrevision = "main"\nlanguage = "go"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"\[shop\] repository: .*; revision: .*; licence: Field required"):
        load_sources(path)


def test_the_command_runs_all_engines_and_keeps_their_runs(clones, tmp_path, capsys):
    datasets = tmp_path / "datasets" / "projects"
    datasets.mkdir(parents=True)
    question = {
        "id": "a",
        "question": "put an item into the cart",
        "answers": [{"path": "src/cart.py", "symbol": "add"}],
    }
    (datasets / "shop.jsonl").write_text(json.dumps(question), encoding="utf-8")
    table = "\n".join(f'{key} = "{value}"' for key, value in source(clones).model_dump().items())
    (datasets / "sources.toml").write_text(f"[shop]\n{table}\n", encoding="utf-8")
    thresholds = tmp_path / "thresholds.toml"
    thresholds.write_text('[projects]\n"hit@5" = 1.0\nms_p50 = 0.0\n', encoding="utf-8")
    arguments = [
        "--datasets", str(datasets.parent), "--clones", str(clones), "--trees", str(tmp_path / "trees"),
        "--out", str(tmp_path / "out"), "--thresholds", str(thresholds),
    ]  # fmt: skip
    assert main(arguments) == 6  # no engine takes no time
    out, error = capsys.readouterr()
    assert "| shop | 1 | 1.000 | 1.000 | +0.000 (+0.000 to +0.000) |" in out
    assert "failed: ms_p50 is" in error
    assert "hit@5" not in error
    assert load_run(tmp_path / "out" / "projects-bm25.json").questions[0].repository == "shop"
    (datasets / "store.jsonl").write_text(json.dumps(question), encoding="utf-8")
    gone = f"[store]\n{table}\n".replace("somebody/shop", "somebody/store")
    (datasets / "sources.toml").write_text(f"[shop]\n{table}\n{gone}", encoding="utf-8")
    assert main(arguments[:-2]) == 1  # the others are measured all the same
    out, error = capsys.readouterr()
    assert "| shop | 1 |" in out
    assert "left out: store: no clone of somebody/store" in error
    assert main([*arguments, "--only", "stall"]) == 1
    assert "no golden set stall" in capsys.readouterr().err


def test_engines_are_compared_by_project_and_language():
    def run(engine: str, values: list[float]) -> Run:
        places = [("x", "go"), ("x", "go"), ("x", "c"), ("y", "go")]
        return Run(
            engine=engine,
            questions=tuple(
                QuestionResult(
                    id=str(n), question="?", intent="general", repository=place, language=language,
                    metrics={"hit@5": value},
                )
                for n, ((place, language), value) in enumerate(zip(places, values, strict=True))
            ),
        )  # fmt: skip

    table = build_versus_table("hit@5", {"a": run("a", [1, 1, 1, 0]), "b": run("b", [0, 1, 0, 0])})
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(table.header) == ["", "n", "a", "b", "a - b"]
    assert rows["x"][:3] == ["3", "1.000", "0.333"]
    assert rows["all go"][:3] == ["3", "0.667", "0.333"]
    assert rows["all"][:3] == ["4", "0.750", "0.250"]
    assert rows["all"][3].startswith("+0.500 (")
    assert rows["y"] == ["1", "0.000", "0.000", "+0.000 (+0.000 to +0.000)"]
