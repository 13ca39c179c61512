"""``coderag eval`` over a small repository."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.interfaces.cli.main import app

FIXTURE = Path(__file__).parents[1] / "fixtures" / "repos" / "python" / "shop"
QUESTIONS = [
    {"id": "add", "question": "put an item into the cart", "answers": [{"path": "shop/cart.py", "symbol": "Cart.add"}]},
    {
        "id": "exchange", "question": "who calls exchange", "intent": "find_usage",
        "answers": [{"path": "shop/cart.py", "symbol": "Cart.total"}],
    },
    {"id": "nothing", "question": "where are invoices e-mailed", "unanswerable": True},
    {"id": "old", "question": "where is the warehouse", "answers": [{"path": "shop/warehouse.py"}]},
]  # fmt: skip


def coderag(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture(scope="module")
def repo(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(FIXTURE, root / "shop")
    (root / ".coderag.yaml").write_text("ingestion:\n  workers: 0\n", encoding="utf-8")
    (root / "golden.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def kept(repo, tmp_path_factory) -> Path:
    """A run of all questions."""
    path = tmp_path_factory.mktemp("runs") / "run.json"
    assert coderag("eval", "run", repo / "golden.jsonl", "-C", repo, "--out", path).exit_code == 0
    return path


def changed(kept: Path, folder: Path, rank: int) -> Path:
    """A run in which the first result that answers something stands elsewhere, and the channel `dense` is silent."""
    record = json.loads(kept.read_text(encoding="utf-8"))
    for question in record["questions"]:
        for result in question["results"]:
            result.get("channels", {}).pop("dense", None)
        if "ndcg@10" in question["metrics"]:
            question["metrics"]["ndcg@10"] /= rank
    record["settings"]["search.disabled_signals"] = ["dense"]
    path = folder / "changed.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def test_the_figures_are_on_stdout_and_what_is_stale_on_stderr(repo):
    result = coderag("eval", "run", repo / "golden.jsonl", "-C", repo)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("golden: coderag ")
    assert lines[0].endswith(f", 3 questions about {repo.name}")
    assert any(line.startswith("  hit@5 ") and line.endswith("  2") for line in lines)
    assert {"Overall", "By intent", "Verdicts"} <= set(lines)
    assert "shop/warehouse.py: there is no such file" in result.stderr
    assert "questions without any other answer, left out: 1 (old)" in result.stderr


@pytest.mark.parametrize("name", ["golden.jsonl", "my [golden] set.jsonl"])
def test_the_golden_set_itself_is_never_a_result(repo, tmp_path, name):
    copy = tmp_path / "repository"
    shutil.copytree(repo, copy, ignore=shutil.ignore_patterns(".coderag", "golden.jsonl"))
    shutil.copy(repo / "golden.jsonl", copy / name)
    record = json.loads(coderag("eval", "run", copy / name, "-C", copy, "--json").stdout)
    paths = {result["path"] for question in record["run"]["questions"] for result in question["results"]}
    assert "shop/cart.py" in paths
    assert name not in paths


def test_json_has_the_whole_run(repo):
    result = coderag("eval", "run", repo / "golden.jsonl", "-C", repo, "--json", "--engine", "bm25")
    record = json.loads(result.stdout)
    assert record["run"]["engine"] == "bm25"
    assert [question["id"] for question in record["run"]["questions"]] == ["add", "exchange", "nothing"]
    assert record["overall"]["hit@5"]["n"] == 2
    assert record["failed"] == []


def test_below_a_threshold_the_exit_code_is_6(repo, tmp_path):
    run = ("eval", "run", repo / "golden.jsonl", "-C", repo)
    assert coderag(*run, "--fail-under", "file_hit@5=0.5").exit_code == 0
    result = coderag(*run, "--fail-under", "ms_p50=0")
    assert result.exit_code == 6
    assert "failed: ms_p50 is" in result.stderr
    thresholds = tmp_path / "thresholds.toml"
    thresholds.write_text("[golden]\nms_p50 = 0\n", encoding="utf-8")
    assert coderag(*run, "--thresholds", thresholds).exit_code == 6
    assert coderag(*run, "--thresholds", thresholds, "--fail-under", "ms_p50=100000").exit_code == 0


def test_a_report_is_compared_with_the_baseline(repo, kept, tmp_path):
    report = tmp_path / "report.md"
    result = coderag(
        "eval", "run", repo / "golden.jsonl", "-C", repo, "--off", "dense", "--baseline", kept, "--markdown", report
    )
    assert result.exit_code == 0
    assert "search.disabled_signals  none    dense" in result.stdout
    assert "channel dense is gone" in report.read_text(encoding="utf-8")


def test_json_has_the_comparison_with_the_baseline(repo, kept):
    result = coderag("eval", "run", repo / "golden.jsonl", "-C", repo, "--baseline", kept, "--json")
    comparison = json.loads(result.stdout)["comparison"]
    assert (comparison["regression"], comparison["questions"], comparison["worse"]) == (False, 3, [])


def test_no_change_passes(kept):
    result = coderag("eval", "compare", kept, kept, "--fail-on-regression")
    assert result.exit_code == 0
    assert result.stdout.startswith("no regression over 3 questions\n")


def test_a_planted_regression_fails_and_is_named(kept, tmp_path):
    other = changed(kept, tmp_path, rank=2)
    result = coderag("eval", "compare", kept, other, "--fail-on-regression")
    assert result.exit_code == 6
    assert result.stdout.startswith("worse over 3 questions")
    assert "channel dense is gone" in result.stdout
    assert "search.disabled_signals  none    dense" in result.stdout
    assert "who calls exchange" in result.stdout
    record = json.loads(coderag("eval", "compare", kept, other, "--json").stdout)
    assert record["regression"] is True
    assert record["settings"] == {"search.disabled_signals": {"before": [], "after": ["dense"]}}
    assert {one["id"] for one in record["worse"]} == {"add", "exchange"}


def test_without_the_option_a_regression_is_only_told(kept, tmp_path):
    assert coderag("eval", "compare", kept, changed(kept, tmp_path, rank=2)).exit_code == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--engine", "google"), "unknown engine 'google'"),
        (("--off", "magic"), "cannot switch off unknown signal 'magic'"),
        (("--engine", "bm25", "--off", "dense"), "--off requires the engine coderag"),
        (("--engine", "semble"), "the engine semble is not installed"),
        (("--engine", "bm25", "--answers"), "the engine bm25 cannot answer questions"),
        (("--fail-under", "hit@5"), "'hit@5' is not a threshold"),
        (("--fail-under", "hits=1"), "the run has no metric 'hits'"),
        (("--top-k", "1000"), "top_k is 1000"),
        (("--baseline", "gone.json"), "run gone.json: No such file or directory"),
        (("--out", "gone/run.json"), "gone/run.json: its folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_line(repo, more, told):
    result = coderag("eval", "run", repo / "golden.jsonl", "-C", repo, *more)
    assert result.exit_code in (2, 3)
    assert result.stderr.startswith(f"error: {told}")
    assert result.stdout == ""


def test_a_broken_golden_set_is_told_with_its_line(repo, tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"question": "?", "unanswerable": true}\n{"question"\n', encoding="utf-8")
    result = coderag("eval", "run", path, "-C", repo)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: golden set {path}, line 2: invalid JSON")


def test_alone_it_shows_its_commands():
    result = coderag("eval")
    assert result.exit_code == 2
    assert "compare" in result.stderr
