"""``coderag enrich``: what is said of a run, a plan and an import."""

import json
import re
import signal

import pytest
from typer.testing import CliRunner

from coderag import CodeRAG
from coderag.errors import InvalidQueryError, ModelUnavailableError
from coderag.interfaces.cli import engine_access
from coderag.interfaces.cli.commands.enrich import parse_duration
from coderag.interfaces.cli.main import app
from coderag.models.llms.scripted import ScriptedModel
from tests.support.summaries import write_files, write_sentences

PRICES = {"price_per_million_input_tokens": 1000.0, "price_per_million_output_tokens": 1000.0}


class CommandLine:
    """Runs ``coderag enrich`` over a small repository with a model that writes sentences."""

    def __init__(self, root):
        self.root = root
        self.model = ScriptedModel(write_sentences)
        self.settings = {}
        CodeRAG(root).index()

    def open_repository(self, root):
        return CodeRAG(self.root, language_model=self.model, **self.settings)

    def __call__(self, *arguments):
        return CliRunner().invoke(app, [*arguments], catch_exceptions=False)


@pytest.fixture
def coderag(monkeypatch, tmp_path):
    command_line = CommandLine(write_files(tmp_path / "repo"))
    monkeypatch.setattr(engine_access, "open_repository", command_line.open_repository)
    monkeypatch.setattr("os.nice", lambda number: None, raising=False)  # it would last as long as this process
    monkeypatch.chdir(tmp_path)
    return command_line


def rows_of(result):
    """Return what a report says by label."""
    return dict(line.strip().split("  ", 1) for line in result.stdout.splitlines()[1:] if "  " in line.strip())


def test_a_run_says_what_was_written(coderag) -> None:
    result = coderag("enrich")
    assert result.exit_code == 0
    rows = {label: value.strip() for label, value in rows_of(result).items()}
    assert result.stdout.startswith(f"summarised {coderag.root}\n")
    assert rows["ended"] == "complete"
    assert rows["written"] == "7 pieces of code, 3 files, 2 folders"
    assert rows["summaries"] == "7 of 7 pieces of code"
    assert rows["model"] == "scripted/1"


def test_the_status_has_a_line_on_summaries_once_there_are_some(coderag) -> None:
    assert "summaries" not in coderag("status").stdout
    coderag("enrich", "--limit", "3")
    assert "  summaries  3 of 7 by scripted/1\n" in coderag("status").stdout


def test_a_run_as_json_is_the_report(coderag) -> None:
    report = json.loads(coderag("enrich", "--json").stdout)
    assert report["written"] == {"chunk": 7, "file": 3, "folder": 2}
    assert (report["stopped"], report["share"], report["model"]) == ("done", [7, 7], "scripted/1")


def test_a_cost_is_told_where_there_are_prices(coderag) -> None:
    coderag.settings = {"llm": PRICES}
    assert ", cost " in coderag("enrich", "--max-cost", "100").stdout


def test_a_limit_ends_the_run(coderag) -> None:
    assert "limit reached" in coderag("enrich", "--limit", "2").stdout


def test_what_failed_is_listed_and_the_exit_code_says_so(coderag) -> None:
    coderag.model = ScriptedModel(
        lambda prompt: "\n".join(line for line in write_sentences(prompt).splitlines() if "login" not in line)
    )
    result = coderag("enrich")
    assert result.exit_code == 5
    assert rows_of(result)["failed"].endswith(":1-6: the reply has no line for it")


def interrupting(prompt):
    """Write, but have the user press Ctrl-C meanwhile."""
    signal.raise_signal(signal.SIGINT)
    return write_sentences(prompt)


def test_an_interrupted_run_says_what_it_has_kept_and_the_exit_code_says_so(coderag) -> None:
    coderag.settings = {"summaries": {"batch": 3}, "llm": {"concurrency": 1}}
    coderag.model = ScriptedModel(interrupting)
    result = coderag("enrich")
    assert (result.exit_code, result.stderr) == (130, "interrupted; an existing index is intact\n")
    assert rows_of(result)["ended"].strip() == "stopped"
    assert rows_of(result)["written"].strip() == "3 pieces of code"
    assert "  summaries  3 of 7 by scripted/1\n" in coderag("status").stdout


def test_an_interrupted_run_as_json_is_the_report_and_an_error(coderag) -> None:
    coderag.settings = {"summaries": {"batch": 3}, "llm": {"concurrency": 1}}
    coderag.model = ScriptedModel(interrupting)
    result = coderag("enrich", "--json")
    assert json.loads(result.stdout)["written"] == {"chunk": 3}
    assert json.loads(result.stderr)["error"]["exit_code"] == result.exit_code == 130


def test_following_is_ended_by_an_interrupt_and_that_is_no_error(coderag) -> None:
    coderag.model = ScriptedModel(interrupting)
    result = coderag("enrich", "--watch")
    assert (result.exit_code, result.stderr) == (0, f"following {coderag.root} (press Ctrl-C to stop)\n")


def test_a_model_that_is_unreachable_is_an_error(coderag) -> None:
    coderag.model = ScriptedModel(*[ModelUnavailableError("nobody there")] * 9)
    result = coderag("enrich")
    assert result.exit_code == 32
    assert "nobody there" in result.stderr


def test_without_a_model_the_error_says_what_to_set(coderag) -> None:
    coderag.model = None
    result = coderag("enrich")
    assert result.exit_code == 3
    assert "no language model is configured" in result.stderr
    assert "llm.provider" in result.stderr


def test_a_plan_sends_nothing_and_says_how_much_it_would_be(coderag) -> None:
    coderag.settings = {"llm": PRICES}
    result = coderag("enrich", "--plan")
    rows = {label: value.strip() for label, value in rows_of(result).items()}
    assert coderag.model.prompts == []
    assert rows["to do"] == "7 pieces of code"
    assert rows["written"] == "0 of 7 pieces of code"
    assert rows["cost"].startswith("about ")
    assert rows["time"] == "unknown before the first run"
    assert ":" in rows["first"]


def test_after_a_run_a_plan_tells_the_time_and_when_nothing_is_left(coderag) -> None:
    coderag("enrich", "--limit", "3")
    assert re.search(r"^  time     about \d+ s$", coderag("enrich", "--plan").stdout, re.MULTILINE)
    coderag("enrich")
    assert "  to do    none\n" in coderag("enrich", "--plan").stdout


def test_a_plan_as_json_has_the_prompts_and_needs_no_model(coderag) -> None:
    coderag.model = None
    plan = json.loads(coderag("enrich", "--plan", "--json", "--limit", "2").stdout)
    (batch,) = plan["batches"]
    assert batch["prompt"]["system"].startswith("You write the summaries")
    assert [set(piece) for piece in batch["pieces"]] == [{"place", "id"}] * 2


def test_summaries_that_were_written_elsewhere_come_in(coderag, tmp_path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"place": "shop/cart.py:1-4", "sentence": "Adds up prices."}\n')
    result = coderag("enrich", "--from", str(path))
    assert result.exit_code == 0
    assert rows_of(result)["written"].strip() == "1 piece of code"
    assert "Adds up prices." in coderag("search", "adds up prices").stdout


def test_places_that_are_unknown_are_listed(coderag, tmp_path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"place": "no/such.py:1-4", "sentence": "Adds up prices."}\n')
    result = coderag("enrich", "--from", str(path))
    assert result.exit_code == 5
    assert "no/such.py:1-4: no such chunk, file or folder" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [("--from", "a.jsonl", "--limit", "3"), ("--plan", "--watch"), ("--plan", "--budget", "3s"), ("--budget", "soon")],
)
def test_options_that_do_not_go_together_are_refused(coderag, arguments) -> None:
    assert coderag("enrich", *arguments).exit_code == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("10min", 600), ("2h", 7_200), ("1h30m", 5_400), ("45", 45), ("1.5m", 90)],
)
def test_times_are_read_as_people_write_them(text, seconds) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "-5s", "1m2h"])
def test_what_is_no_time_is_refused(text) -> None:
    with pytest.raises(InvalidQueryError, match="is not a duration"):
        parse_duration(text)
