"""``coderag eval mine`` and ``coderag eval tune`` over small repositories."""

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.config.settings import Settings
from coderag.interfaces.cli.commands.eval.tuning import parse_duration
from coderag.interfaces.cli.main import app
from evals.golden import load_golden

ANIMALS = [
    "badger", "camel", "dolphin", "ferret", "giraffe", "heron", "iguana", "jackal", "kangaroo", "lemur", "moose", "newt",
    "otter", "panda", "quail", "rabbit", "seal", "tapir", "vulture", "zebra",
]  # fmt: skip
CODE = "def price(item):\n    return item.cost\n\n\ndef parse(text):\n    return float(text)\n"
TESTS = "from shop import price\n\n\ndef test_goods_cost_what_they_say():\n    assert price(goods()) == 1\n"


def coderag(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("shop")
    git(root, "init", "-q")
    (root / ".coderag.yaml").write_text("ingestion:\n  workers: 0\n", encoding="utf-8")
    for name, text, message in (
        ("shop.py", CODE, "Sell things in a shop"),
        ("test_shop.py", TESTS, "Test the shop"),
        ("shop.py", CODE.replace("item.cost", "max(0, item.cost)"), "Never charge less than nothing for goods"),
    ):
        (root / name).write_text(text, encoding="utf-8")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", message)
    return root


@pytest.fixture(scope="module")
def zoo(tmp_path_factory) -> Path:
    """A repository whose settings switch off what would find its files, and a golden set about it."""
    root = tmp_path_factory.mktemp("zoo")
    for number, animal in enumerate(ANIMALS):
        text = f'def feed_{animal}(cage):\n    """Feed the {animal} once a day."""\n    return cage.open("{animal}")\n'
        (root / f"k{number}.py").write_text(text, encoding="utf-8")
    asked = [
        {"question": f"what feeds the {animal}", "answers": [{"path": f"k{number}.py", "start_line": 1, "end_line": 3}]}
        for number, animal in enumerate(ANIMALS)
    ]
    (root / "golden.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked), encoding="utf-8")
    return root


@pytest.fixture
def bad_settings(zoo) -> str:
    text = """\
ingestion:
  workers: 0
search:
  # what we tried last year
  weights: {lexical: 0, dense: 0, cosine: 0, coverage: 0, broad_coverage: 0, file_lexical: 0, file_dense: 0}
  top_k: 5  # enough
"""
    (zoo / ".coderag.yaml").write_text(text, encoding="utf-8")
    return text


def test_a_golden_set_of_history_and_tests_can_be_run(shop, tmp_path):
    golden = tmp_path / "golden.jsonl"
    result = coderag("eval", "mine", "-C", shop, "--out", golden)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{golden}: 2 questions, 0 of them naming an answer\n")
    assert "commits: 3 looked at, 1 made a question" in result.stdout
    assert "  1  too few words" in result.stdout
    assert [question.question for question in load_golden(golden).questions] == [
        "Never charge less than nothing for goods",
        "goods cost what they say",
    ]
    assert coderag("eval", "run", golden, "-C", shop, "--fail-under", "file_hit@5=1").exit_code == 0


def test_what_was_left_out_is_counted_in_json(shop, tmp_path):
    result = coderag("eval", "mine", "-C", shop, "--from", "commits", "--out", tmp_path / "golden.jsonl", "--json")
    (source,) = json.loads(result.stdout)["sources"]
    assert (source["source"], source["considered"], source["questions"]) == ("commits", 3, 1)
    assert sum(source["dropped"].values()) == 2


def test_a_file_is_overwritten_only_when_told(shop, tmp_path):
    golden = tmp_path / "golden.jsonl"
    golden.write_text("mine\n", encoding="utf-8")
    result = coderag("eval", "mine", "-C", shop, "--from", "commits", "--out", golden)
    assert result.exit_code == 3
    assert "already exists" in result.stderr
    assert golden.read_text(encoding="utf-8") == "mine\n"
    assert coderag("eval", "mine", "-C", shop, "--from", "commits", "--out", golden, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--from", "tickets"), "'tickets' is not a source"),
        (("--from", "commits", "--since", "nowhere"), "'nowhere' is neither a git revision nor a date"),
        (("--from", "commits", "--since", "HEAD"), "no usable question"),
    ],
)
def test_what_cannot_be_mined_is_told(shop, tmp_path, arguments, told):
    result = coderag("eval", "mine", "-C", shop, "--out", tmp_path / "golden.jsonl", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not (tmp_path / "golden.jsonl").exists()


@pytest.mark.parametrize("ending", ["yaml", "YML"])
def test_an_ending_of_yaml_is_refused_as_json_lines_could_not_be_read_back(shop, tmp_path, ending):
    result = coderag("eval", "mine", "--repo", shop, "--out", tmp_path / f"golden.{ending}")
    assert result.exit_code == 2
    assert "written as JSON lines" in result.stderr
    assert "golden.jsonl" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_git_is_told(tmp_path):
    result = coderag("eval", "mine", "-C", tmp_path, "--from", "commits", "--out", tmp_path / "golden.jsonl")
    assert result.exit_code == 2
    assert "is not in a git repository" in result.stderr


def test_settings_with_a_sure_gain_are_written_and_the_rest_of_the_file_stays(zoo, bad_settings):
    dry = coderag("eval", "tune", zoo / "golden.jsonl", "-C", zoo, "--budget", "1m", "--dry-run")
    assert dry.exit_code == 0
    assert "Not written: --dry-run." in dry.stdout
    assert (zoo / ".coderag.yaml").read_text(encoding="utf-8") == bad_settings

    record = json.loads(coderag("eval", "tune", zoo / "golden.jsonl", "-C", zoo, "--budget", "1m", "--json").stdout)
    assert record["sure"]
    assert record["gain"]["low"] > 0
    after = (zoo / ".coderag.yaml").read_text(encoding="utf-8")
    assert [line for line in after.splitlines() if "weights" not in line] == [
        line for line in bad_settings.splitlines() if "weights" not in line
    ]
    assert Settings.load(zoo).search.weights == record["changes"]["weights"]


def test_where_nothing_is_surely_better_nothing_is_written(zoo):
    text = "ingestion: {workers: 0}\n"
    (zoo / ".coderag.yaml").write_text(text, encoding="utf-8")
    result = coderag("eval", "tune", zoo / "golden.jsonl", "-C", zoo, "--budget", "1s")
    assert result.exit_code == 0
    assert "The current settings are best" in result.stdout
    assert (zoo / ".coderag.yaml").read_text(encoding="utf-8") == text


def test_a_small_set_is_refused(zoo, bad_settings, tmp_path):
    few = tmp_path / "few.jsonl"
    lines = (zoo / "golden.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    few.write_text("".join(lines[:5]), encoding="utf-8")
    result = coderag("eval", "tune", few, "-C", zoo)
    assert result.exit_code == 2
    assert "5 answerable questions are too few to tune on" in result.stderr


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5 h", 5400)])
def test_times_are_read(text, value):
    assert parse_duration(text) == value


@pytest.mark.parametrize("text", ["", "0s", "5 days", "-1m"])
def test_what_is_no_time_is_refused(zoo, text):
    result = coderag("eval", "tune", zoo / "golden.jsonl", "-C", zoo, f"--budget={text}")
    assert result.exit_code == 2
    assert "is not a duration" in result.stderr
