"""``coderag prompts``."""

import json
from pathlib import Path

import pytest

from coderag.prompting import list_prompt_names, read_prompt_text


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Where the project's own text of a prompt is."""
    folder = tmp_path / ".coderag/prompts"
    folder.mkdir(parents=True)
    return folder / "rewrite_queries.md"


def test_list_names_all_prompts_with_their_variables(coderag) -> None:
    result = coderag("prompts", "list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in list_prompt_names())
    assert "version 2; variables: passages, question" in result.stdout
    assert "custom text:" not in result.stdout


def test_list_says_which_are_the_projects_own(coderag, own) -> None:
    own.write_text(read_prompt_text("rewrite_queries"), encoding="utf-8")
    (own.parent / "rewrit.md").write_text("", encoding="utf-8")
    assert f"custom text: {own}" in coderag("prompts", "list").stdout
    told = json.loads(coderag("prompts", "list", "--json").stdout)
    assert {one["name"]: one["path"] for one in told["prompts"] if one["path"]} == {"rewrite_queries": str(own)}
    assert told["unknown"] == ["rewrit"]
    assert told["folder"] == own.parent.as_posix()


def test_list_shows_an_own_text_that_cannot_be_used(coderag, own) -> None:
    own.write_text("Asked: {{question}}", encoding="utf-8")
    result = coderag("prompts", "list")
    assert result.exit_code == 0
    assert f"custom text is invalid: {own} has no front matter" in result.stdout


def test_show_prints_the_text_in_force(coderag, own) -> None:
    assert coderag("prompts", "show", "rewrite_queries").stdout == read_prompt_text("rewrite_queries")
    changed = read_prompt_text("rewrite_queries").replace("Ten words", "Five words")
    own.write_text(changed, encoding="utf-8")
    assert coderag("prompts", "show", "rewrite_queries").stdout == changed
    packaged = coderag("prompts", "show", "rewrite_queries", "--packaged")
    assert packaged.stdout == read_prompt_text("rewrite_queries")


def test_show_as_json_tells_rules_and_task_apart(coderag) -> None:
    told = json.loads(coderag("prompts", "show", "rewrite_queries", "--json").stdout)
    assert told["system"].startswith("You help to search")
    assert told["user"].startswith("Question:\n{{question}}")


def test_an_unknown_name_is_wrong_usage_with_the_nearest(coderag) -> None:
    result = coderag("prompts", "show", "rewrite_query")
    assert result.exit_code == 2
    assert "Did you mean 'rewrite_queries'?" in result.stderr


def test_copy_writes_the_packages_text_once(coderag, own) -> None:
    result = coderag("prompts", "copy", "rewrite_queries")
    assert result.stdout == f"{own}\n"
    assert own.read_text(encoding="utf-8") == read_prompt_text("rewrite_queries")
    own.write_text("mine", encoding="utf-8")
    again = coderag("prompts", "copy", "rewrite_queries")
    assert again.exit_code == 3
    assert "--force overwrites it" in again.stderr
    assert own.read_text(encoding="utf-8") == "mine"
    told = json.loads(coderag("prompts", "copy", "rewrite_queries", "--force", "--json").stdout)
    assert told == {"path": own.as_posix(), "overwritten": True}
    assert own.read_text(encoding="utf-8") == read_prompt_text("rewrite_queries")


def test_copy_makes_the_folder_where_the_settings_say(coderag, tmp_path: Path) -> None:
    (tmp_path / ".coderag.yaml").write_text("storage: {directory: elsewhere}", encoding="utf-8")
    assert coderag("prompts", "copy", "rewrite_queries").exit_code == 0
    assert (tmp_path / "elsewhere/prompts/rewrite_queries.md").is_file()
    assert (tmp_path / "elsewhere/.gitignore").read_text(encoding="utf-8") == "*\n"
    assert not (tmp_path / ".coderag").exists()


def test_check_passes_what_can_be_used(coderag, own) -> None:
    none = coderag("prompts", "check")
    assert (none.exit_code, none.stdout) == (0, "")
    assert "no custom prompts" in none.stderr
    own.write_text(read_prompt_text("rewrite_queries"), encoding="utf-8")
    result = coderag("prompts", "check")
    assert (result.exit_code, result.stdout) == (0, "rewrite_queries: version 2, valid\n")


def test_check_fails_for_what_cannot_be_used(coderag, own) -> None:
    own.write_text(read_prompt_text("rewrite_queries").replace("question", "query"), encoding="utf-8")
    result = coderag("prompts", "check")
    assert result.exit_code == 3
    assert "the variables must be those of the packaged prompt: question" in result.stdout
    assert "coderag prompts show rewrite_queries --packaged" in result.stderr
    told = json.loads(coderag("prompts", "check", "--json").stdout)
    assert told["prompts"][0]["error"]


def test_a_folder_that_is_none_is_refused(coderag, tmp_path: Path) -> None:
    assert coderag("prompts", "list", "-C", str(tmp_path / "nowhere")).exit_code == 4


def test_without_a_command_the_help_is_shown(coderag) -> None:
    result = coderag("prompts")
    assert result.exit_code == 2
    assert "copy" in result.stderr
