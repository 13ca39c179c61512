"""``coderag index --plan``: a report of what would be done."""

import json

import pytest

from coderag.interfaces.cli.output import index_plan
from coderag.schema.index_plan import Estimate


def test_plan_prints_what_would_be_done(coderag, tmp_path) -> None:
    result = coderag("index", "--plan")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.replace(str(tmp_path), "ROOT") == (
        "plan for ROOT (nothing is written)\n"
        "  to do      3 new, 1 changed, 1,200 unchanged\n"
        "  folder     .coderag\n"
        "  files      1,204 files, 12.3 MB\n"
        "  to read    4 files, 20.5 kB\n"
        "  languages  12.3 MB  1,200 files  python\n"
        "             45.7 kB      1 file   rust\n"
        "  largest    9.0 MB  1,100 files  src/auth/\n"
        "  left out   12 files: binary file (such as logo.png)\n"
        "             1 file and 2 folders: ignored by .gitignore: out* (such as out.txt)\n"
        "  chunks     about 9,000\n"
        "  time       about 4-8 s with 2 processes\n"
        "  memory     about 410-620 MB\n"
    )


def test_plan_does_not_index(coderag) -> None:
    coderag("index", "--plan", "--full")
    assert coderag.calls == [("plan", True)]


def test_plan_needs_no_index(coderag) -> None:
    assert "(there is no index yet)" in coderag("index", "--plan", behaviour="unindexed").stdout


def test_plan_of_an_index_that_is_up_to_date_has_no_costs(coderag) -> None:
    text = coderag("index", "--plan", behaviour="fresh").stdout
    assert "  to do      nothing: the index is up to date\n" in text
    assert "  chunks     about 9,000\n" in text
    assert "memory" not in text


def test_plan_says_why_everything_is_built_anew(coderag) -> None:
    assert "  to do      all anew: other model\n" in coderag("index", "--plan", behaviour="rebuild").stdout


def test_plan_says_that_all_vectors_are_made_anew(coderag) -> None:
    text = coderag("index", "--plan", behaviour="switch").stdout
    assert (
        "  to do      3 new, 1 changed, 1,200 unchanged; all vectors anew: the embedding model changes from a/b to c/d\n"
    ) in text
    assert "  time       about" in text


def test_plan_says_what_a_server_is_sent_and_what_it_costs(coderag) -> None:
    text = coderag("index", "--plan", behaviour="priced").stdout
    assert "  embedding  openai/small\n" in text
    assert "  sent       about 9,000-12,000 texts with about 1,200,000-2,300,000 tokens\n" in text
    assert "kept from" not in text
    assert "  cost       about 0.024-0.047 at 0.02 for a million tokens\n" in text
    assert "with 2 processes, and what the embedding server takes" in text


def test_plan_says_what_an_interrupted_switch_has_paid_for(coderag) -> None:
    text = coderag("index", "--plan", behaviour="resumed").stdout
    assert "tokens (3,000 more are cached from an earlier run)\n" in text


def test_plan_without_a_price_says_how_to_set_it(coderag) -> None:
    assert "set embedding.price_per_million_tokens" in coderag("index", "--plan", behaviour="unpriced").stdout


def test_what_would_fail_is_listed_and_is_no_failure_of_the_plan(coderag) -> None:
    result = coderag("index", "--plan", behaviour="partial")
    assert result.exit_code == 0
    assert "  failed     locked/: permission denied\n" in result.stdout


def test_plan_json_keys(coderag) -> None:
    result = json.loads(coderag("index", "--plan", "--json", behaviour="priced").stdout)
    assert list(result) == [
        "root", "directory", "generation", "rebuild", "total", "to_read", "new", "changed", "unchanged", "removed",
        "languages", "folders", "excluded", "failed", "processes", "chunks", "seconds", "memory", "embedding",
        "reembed", "nothing_to_do",
    ]  # fmt: skip
    assert result["languages"]["rust"] == {"files": 1, "bytes": 45_678}
    assert result["seconds"] == {"low": 4.04, "high": 7.96}
    assert list(result["embedding"]) == [
        "provider", "model", "texts", "tokens", "price_per_million_tokens", "cost", "cached",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1_234, 1_234, "1,234"),
        (0, 0, "0"),
        (4.3, 8.2, "about 4-9"),
        (9_001, 9_040, "about 9,000"),
        (0.2, 0.4, "about 0-1"),
    ],
)
def test_counts_are_whole_numbers_and_exact_where_they_are_known(low: float, high: float, words: str) -> None:
    assert index_plan._format_estimate(Estimate(low, high)) == words


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (20_480, "20.5 kB"), (12_345_678, "12.3 MB"), (3e9, "3.0 GB")]
)
def test_sizes_are_told_in_a_unit_that_suits_them(size: float, words: str) -> None:
    assert index_plan._format_size(size) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.9, "less than 1 s"),
        (0.44, 1.04, "about 0.44-1 s"),
        (4, 8, "about 4-8 s"),
        (61, 119, "about 61-120 s"),
        (61, 121, "about 1-2 min"),
        (600, 1_234, "about 10-21 min"),
        (5_000, 7_300, "about 1.4-2 h"),
    ],
)
def test_times_are_told_in_a_unit_that_suits_them(low: float, high: float, words: str) -> None:
    assert index_plan._format_duration(Estimate(low, high)) == words
