"""Past commits as cases of test selection: recorded, measured, reported."""

import sys
from pathlib import Path

import pytest

from evals.test_selection.__main__ import main
from evals.test_selection.cases import read_cases
from evals.test_selection.measurement import Selection, read_selections
from evals.test_selection.past_commits import iterate_commits
from evals.test_selection.pytest_runs import PytestSetup, run_pytest
from evals.test_selection.report import format_report
from tests.support.changed_repository import commit_files, make_repository, write_files

TESTS = (
    "from shop import price\n\n\ndef test_price():\n    assert price(2) == 2\n\n\ndef test_other():\n    assert True\n"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A repository with a change of source and tests, one of tests alone, and one that no test notices."""
    root = make_repository(
        tmp_path_factory.mktemp("source") / "repo",
        {"shop.py": "def price(n):\n    return n\n", "tests/test_shop.py": TESTS, "conftest.py": ""},
    )
    commit_files(root, {"tests/test_shop.py": TESTS + "\n\ndef test_third():\n    pass\n"}, "Test more")
    doubled = TESTS.replace("== 2", "== 4") + "\n\ndef test_fourth():\n    pass\n"
    commit_files(root, {"shop.py": "def price(n):\n    return n * 2\n", "tests/test_shop.py": doubled}, "Double it")
    commit_files(root, {"shop.py": "def price(n):\n    return 2 * n\n", "tests/test_shop.py": doubled + "\n"}, "Tidy")
    return root


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """Start pytest without the plugins of this environment, which take a second."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_only_commits_of_source_and_tests_are_examined(source):
    commits = list(iterate_commits(source))
    assert [commit.test_files for commit in commits] == [(("M", "tests/test_shop.py"),)] * 2


def test_cases_of_a_parametrized_test_are_one(tmp_path):
    write_files(
        tmp_path,
        {
            "tests/test_a.py": "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
            "def test_a(n):\n    assert n == 1\n\n\ndef test_b():\n    pytest.skip()\n"
        },
    )
    assert run_pytest(tmp_path, PytestSetup(Path(sys.executable), ".", ("tests",), 60)) == {
        "tests/test_a.py::test_a": "failed",
        "tests/test_a.py::test_b": "skipped",
    }


def test_recorded_case_is_measured_for_the_change_and_for_its_source(source, tmp_path, capsys):
    cases, selections, checkout = (str(tmp_path / name) for name in ("shop.jsonl", "selections.jsonl", "clone"))
    run_options = ["--checkout", checkout, "--python", sys.executable, "--pytest", "tests", "--limit", "1"]
    assert main(["record", str(source), cases, *run_options]) == 0
    notes = [line.split(" ", 2)[2] for line in capsys.readouterr().err.splitlines()]
    assert notes == ["no test fails without it", "1 failing"]
    (case,) = read_cases(Path(cases))
    assert (case.failing, len(case.passing), case.import_error) == (["tests/test_shop.py::test_price"], 3, False)
    assert main(["measure", cases, selections, "--checkout", checkout]) == 0
    rows = read_selections(Path(selections))
    assert [(row.part, row.compute_recall()) for row in rows] == [("change", 1), ("source", 1)]
    assert rows[1].ranked[0] == "tests/test_shop.py::test_price"
    assert main(["report", selections]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:4] == ["shop", "source", "1", "1.000"]


def test_report_has_recall_at_the_first_tests_and_share():
    ranked = [f"t{number}" for number in range(20)]
    row = Selection("shop", "a", "source", ranked, [1.0] * 20, ["t2", "t15"], [f"t{n}" for n in range(40)], 0.5, False)
    assert (row.compute_recall(10), row.compute_recall(), row.share) == (0.5, 1, 0.5)
    line = format_report([row]).splitlines()[1]
    assert line.split()[:4] == ["shop", "source", "1", "1.000"]
    assert "0.500" in line
