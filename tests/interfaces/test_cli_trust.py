"""``coderag trust``: what is shown, asked and marked."""

import json
import os
import sys

import pytest

from coderag.config.trust import find_trust_file, is_trusted
from coderag.interfaces.cli.commands.status import make_status_rows
from coderag.interfaces.cli.main import app

posix = pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")


@pytest.fixture(autouse=True)
def trusted() -> None:
    """Nobody trusts anything here."""


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".coderag.yaml").write_text(
        "search: {top_k: 3}\nllm:\n  provider: openai\n  api_key: ${OPENAI_API_KEY}\ngraph: {password: hunter2}\n"
    )
    (tmp_path / ".coderag" / "prompts").mkdir(parents=True)
    (tmp_path / ".coderag" / "prompts" / "answer.md").write_text("x")
    return tmp_path


def test_it_shows_what_would_hold_before_anything_is_marked(coderag, root) -> None:
    result = coderag("trust")
    assert result.exit_code == 2
    assert ".coderag.yaml, line 3: llm.provider = openai\n" in result.stderr
    assert ".coderag.yaml, line 4: llm.api_key = ${OPENAI_API_KEY}\n" in result.stderr
    assert ".coderag/prompts/answer.md" in result.stderr
    assert "top_k" not in result.stderr
    assert "hunter2" not in result.stderr
    assert "Confirm with --yes" in result.stderr
    assert not is_trusted(root)


def test_yes_marks_without_asking(coderag, root) -> None:
    result = coderag("trust", "--yes")
    assert (result.exit_code, result.stdout) == (0, f"trusted: {root}\n")
    assert is_trusted(root)
    assert coderag("trust").stdout == f"trusted already: {root}\n"


@posix
@pytest.mark.parametrize(("answer", "is_marked"), [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_only_a_yes_marks(root, monkeypatch, answer, is_marked) -> None:
    import pty

    leader, follower = pty.openpty()
    os.write(leader, answer)
    with os.fdopen(follower, "r") as stdin, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdin", stdin)
        app(["trust", str(root)])
    os.close(leader)
    assert is_trusted(root) is is_marked
    assert ended.value.code == (0 if is_marked else 1)


def test_the_mark_is_listed_and_removed(coderag, root) -> None:
    coderag("trust", "--yes")
    assert coderag("trust", "--list").stdout == f"{root}\n"
    assert json.loads(coderag("trust", "--list", "--json").stdout) == {
        "file": find_trust_file().as_posix(),
        "folders": [root.as_posix()],
    }
    assert coderag("trust", "--remove").stdout == f"no longer trusted: {root}\n"
    assert coderag("trust", "--remove").stdout == f"was not trusted: {root}\n"
    assert coderag("trust", "--list").stdout == ""


def test_a_wider_mark_that_still_covers_is_told(coderag, root) -> None:
    (root / "inner").mkdir()
    coderag("trust", str(root), "--yes")
    coderag("trust", str(root / "inner"), "--yes")
    result = coderag("trust", str(root / "inner"), "--remove")
    assert f"still trusted through {root}" in result.stderr


def test_json_says_what_was_allowed(coderag, root) -> None:
    result = json.loads(coderag("trust", "--yes", "--json").stdout)
    assert result["changed"] is True
    assert [one["key"] for one in result["settings"]] == ["llm.provider", "llm.api_key", "graph.password"]
    assert result["prompts"] == ["answer"]


def test_settings_that_cannot_be_used_are_told_first(coderag, root) -> None:
    (root / ".coderag.yaml").write_text("serach: {}\n")
    result = coderag("trust", "--yes")
    assert result.exit_code == 3
    assert "serach: no such key" in result.stderr
    assert not is_trusted(root)


@pytest.mark.parametrize("arguments", [["--list", "--remove"], ["--list", "."]])
def test_a_list_goes_alone(coderag, arguments) -> None:
    assert coderag("trust", *arguments).exit_code == 2


def test_a_folder_that_is_not_there_is_told(coderag, tmp_path) -> None:
    assert coderag("trust", str(tmp_path / "missing"), "--yes").exit_code == 4


def test_doctor_tells_what_is_not_used(coderag, root) -> None:
    result = coderag("doctor", "--only", "settings")
    assert "! settings.trust    ignored: .coderag.yaml, line 3: llm.provider" in result.stdout
    assert "review and allow them with `coderag trust`" in result.stdout


def test_status_lists_what_is_not_used(coderag) -> None:
    coderag("status")
    state = coderag.opened.status()
    rows = make_status_rows(
        type(state)(**{**{name: getattr(state, name) for name in state.__slots__}, "restricted": ("a: b",)})
    )
    assert ("not used", "a: b") in [(row.label, row.value) for row in rows]
