"""``coderag install``: what is written, what is asked, and that it can be undone."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from coderag.interfaces.cli.commands.install_run import InstallRequest, run_install
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.install.agents import AGENTS, find_agent
from coderag.interfaces.install.command import find_server_command
from coderag.interfaces.install.json_text import parse_json

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, links and terminals")
NAMES = [agent.name for agent in AGENTS]
WITH_COMMENTS = [name for name in NAMES if name != "codex"]


def file_of(name: str) -> Path:
    return find_agent(name).find_user_file()


def existing(name: str, text: str) -> Path:
    path = file_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def with_others(name: str) -> str:
    """Return a configuration with the entry of another server."""
    agent = find_agent(name)
    if agent.is_toml:
        return '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "other"\n'
    return json.dumps({"theme": "dark", agent.keys[0]: {"other": {"command": "other"}}}, indent=2) + "\n"


def entry_in(name: str) -> dict[str, object]:
    agent, text = find_agent(name), file_of(name).read_text(encoding="utf-8")
    data = tomllib.loads(text) if agent.is_toml else parse_json(text).data
    return data[agent.keys[0]]["coderag"]


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all files and folders below a folder, but for our own data."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "coderag" not in path.relative_to(folder).as_posix() and not path.name.startswith(".local")
        and path.name not in {"share", "Local"}
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_agent_gets_the_absolute_path_of_the_command(coderag, name) -> None:
    assert coderag("install", name, "--yes").exit_code == 0
    entry = entry_in(name)
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert command == find_server_command()
    assert Path(command[0]).is_absolute()
    assert command[-1] == "mcp"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["absent", "empty", "others", "no newline"])
def test_installing_twice_is_once_and_taking_it_out_gives_the_same_bytes(coderag, home, name, kind) -> None:
    if kind != "absent":
        existing(name, {"empty": "", "others": with_others(name), "no newline": with_others(name).rstrip()}[kind])
    before = tree(home)
    assert coderag("install", name, "--yes").exit_code == 0
    installed = file_of(name).read_bytes()
    assert "already installed" in coderag("install", name, "--yes").stdout
    assert file_of(name).read_bytes() == installed
    result = coderag("install", name, "--uninstall", "--yes")
    assert "restored byte for byte" in result.stdout
    assert tree(home) == before


@pytest.mark.parametrize("name", NAMES)
def test_if_others_changed_the_file_only_our_entry_is_taken_out(coderag, name) -> None:
    path = existing(name, with_others(name))
    coderag("install", name, "--yes")
    text = path.read_text().replace("dark", "light").replace('"x"', '"y"')
    path.write_text(text)
    result = coderag("install", name, "--uninstall", "--yes")
    assert "edited since: only CodeRAG's entry was removed" in result.stdout
    assert path.read_text() == with_others(name).replace("dark", "light").replace('"x"', '"y"')


def test_after_a_change_by_others_and_another_installation_what_is_kept_is_without_ours(coderag) -> None:
    path = existing("cursor", with_others("cursor"))
    coderag("install", "cursor", "--yes")
    path.write_text(path.read_text().replace("dark", "light").replace('"mcp"', '"old"'))
    coderag("install", "cursor", "--yes")
    coderag("install", "cursor", "--uninstall", "--yes")
    assert path.read_text() == with_others("cursor").replace("dark", "light")


@pytest.mark.parametrize("name", WITH_COMMENTS)
def test_comments_and_trailing_commas_survive(coderag, name) -> None:
    key = find_agent(name).keys[0]
    text = f'{{\n  // about all\n  "{key}": {{\n    "other": {{"command": "x"}}, // about other\n  }},\n}}\n'
    path = existing(name, text)
    coderag("install", name, "--yes")
    assert "// about all" in path.read_text()
    assert '"other": {"command": "x"}, // about other\n    "coderag": {' in path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_valid_is_left_alone_and_its_line_is_told(coderag, name) -> None:
    path = existing(name, '{\n  "a": 1\n  "b" = \n')
    result = coderag("install", name, "--yes")
    assert result.exit_code == 3
    assert f"{path}: line " in result.stdout
    assert path.read_text() == '{\n  "a": 1\n  "b" = \n'


@posix
@pytest.mark.parametrize("name", NAMES)
def test_a_read_only_file_is_left_alone(coderag, name) -> None:
    path = existing(name, with_others(name))
    path.chmod(0o444)
    result = coderag("install", name, "--yes")
    assert result.exit_code == 3
    assert "read-only" in result.stdout
    assert path.read_text() == with_others(name)


def test_one_agent_that_fails_holds_up_no_other(coderag) -> None:
    existing("cursor", "{broken")
    result = coderag("install", "cursor", "gemini", "--yes")
    assert result.exit_code == 3
    assert entry_in("gemini")


@posix
def test_permissions_and_links_stay(coderag, tmp_path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o600)
    file_of("cursor").parent.mkdir()
    file_of("cursor").symlink_to(kept)
    coderag("install", "cursor", "--yes")
    assert file_of("cursor").is_symlink()
    assert "coderag" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


@posix
def test_a_link_that_leads_out_of_the_project_is_not_followed(coderag, tmp_path) -> None:
    outside, root = tmp_path / "outside.json", tmp_path / "project"
    (root / ".cursor").mkdir(parents=True)
    outside.write_text("{}")
    (root / ".cursor" / "mcp.json").symlink_to(outside)
    result = coderag("install", "cursor", "--scope", "project", "--repo", str(root), "--yes")
    assert result.exit_code == 3
    assert outside.read_text() == "{}"


def test_an_entry_of_our_name_is_changed_and_its_other_keys_stay(coderag) -> None:
    existing("cursor", '{"mcpServers": {"coderag": {"command": "old", "env": {"A": "b"}}}}')
    coderag("install", "cursor", "--yes")
    assert entry_in("cursor")["env"] == {"A": "b"}
    assert entry_in("cursor")["command"] == find_server_command()[0]


def test_the_diff_shows_the_change_and_no_key_of_another_server(coderag) -> None:
    existing(
        "cursor",
        '{\n  "mcpServers": {\n    "x": {"env": {"API_KEY": "sk-proj-1234567890abcdefghijABCDEFGHIJ"}}\n  }\n}\n',
    )
    result = coderag("install", "cursor", "--yes")
    assert '+    "coderag": {' in result.stderr
    assert "sk-proj" not in result.stderr
    assert "sk-proj" in file_of("cursor").read_text()


def test_without_a_terminal_and_without_yes_nothing_is_written(coderag, home) -> None:
    before = tree(home)
    result = coderag("install", "cursor")
    assert result.exit_code == 2
    assert "Confirm with --yes" in result.stderr
    assert tree(home) == before


@posix
@pytest.mark.parametrize(("answer", "written"), [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_only_a_yes_writes(home, tmp_path, answer, written, monkeypatch) -> None:
    import pty

    leader, follower = pty.openpty()
    os.write(leader, answer)
    with os.fdopen(follower, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        code = run_install(
            InstallRequest(("cursor",), False, "user", tmp_path, False, False), Output(), yes=False, uninstall=False
        )
    os.close(leader)
    assert file_of("cursor").exists() is written
    assert code == (0 if written else 1)


def test_without_names_only_agents_that_are_here_are_meant(coderag, home, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert coderag("install", "--yes").exit_code == 3
    (home / ".cursor").mkdir()
    assert coderag("install", "--yes").stdout.count("installed") == 1
    assert entry_in("cursor")


def test_all_means_all(coderag) -> None:
    result = coderag("install", "--all", "--yes", "--json")
    assert [one["target"] for one in json.loads(result.stdout)["results"]] == NAMES


def test_print_writes_nothing(coderag, home) -> None:
    before = tree(home)
    result = coderag("install", "cursor", "--print")
    assert json.loads(result.stdout)["mcpServers"]["coderag"]["command"] == find_server_command()[0]
    assert str(file_of("cursor")) in result.stderr
    assert tree(home) == before


def test_print_without_an_installed_agent_shows_every_entry(coderag, home, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = coderag("install", "--print", "--json")
    assert result.exit_code == 0
    assert [snippet["target"] for snippet in json.loads(result.stdout)["snippets"]] == NAMES
    assert "no supported agent is installed" in coderag("install", "--print").stderr


def test_a_project_gets_files_of_its_own(coderag, tmp_path) -> None:
    result = coderag("install", "claude", "vscode", "codex", "--scope", "project", "--repo", str(tmp_path), "--yes")
    assert result.exit_code == 0
    assert (tmp_path / ".mcp.json").is_file()
    assert json.loads((tmp_path / ".vscode" / "mcp.json").read_text())["servers"]["coderag"]["type"] == "stdio"
    assert "do not commit" in result.stderr
    coderag("install", "--uninstall", "--scope", "project", "--repo", str(tmp_path), "--yes")
    assert [path.name for path in tmp_path.iterdir()] == []


def test_an_agent_without_files_of_projects_says_so(coderag, tmp_path) -> None:
    result = coderag("install", "windsurf", "--scope", "project", "--repo", str(tmp_path), "--yes")
    assert result.exit_code == 3
    assert "--scope user" in result.stderr


def test_opencode_of_version_two_gets_its_own_form(coderag) -> None:
    existing("opencode", '{"mcp": {"servers": {"x": {"type": "local", "command": ["x"]}}}}')
    coderag("install", "opencode", "--yes")
    servers = parse_json(file_of("opencode").read_text()).data["mcp"]["servers"]
    assert servers["coderag"] == {"type": "local", "command": find_server_command()}


def test_instructions_and_skill_are_written_only_if_asked_for_and_taken_out_again(coderag, home, tmp_path) -> None:
    (tmp_path / "AGENTS.md").write_text("# Ours\n\nBe kind.\n")
    coderag("install", "claude", "cursor", "--repo", str(tmp_path), "--yes")
    assert (tmp_path / "AGENTS.md").read_text() == "# Ours\n\nBe kind.\n"
    options = ["--repo", str(tmp_path), "--yes", "--instructions", "--skill"]
    coderag("install", "claude", "cursor", *options)
    assert (tmp_path / "AGENTS.md").read_text().startswith("# Ours\n\nBe kind.\n\n<!-- coderag:begin")
    assert "coderag_search" in (tmp_path / "CLAUDE.md").read_text()
    assert (home / ".claude" / "skills" / "coderag" / "SKILL.md").read_text().startswith("---\nname: coderag\n")
    assert "already installed" in coderag("install", "cursor", *options).stdout
    coderag("install", "--uninstall", "--repo", str(tmp_path), "--yes")
    assert (tmp_path / "AGENTS.md").read_text() == "# Ours\n\nBe kind.\n"
    assert not (tmp_path / "CLAUDE.md").exists()
    assert not (home / ".claude").exists()


def test_an_edited_document_loses_only_the_block(coderag, tmp_path) -> None:
    document = tmp_path / "AGENTS.md"
    document.write_text("# Ours\n")
    coderag("install", "cursor", "--repo", str(tmp_path), "--yes", "--instructions")
    document.write_text(document.read_text() + "\nMore.\n")
    coderag("install", "cursor", "--repo", str(tmp_path), "--yes", "--instructions", "--uninstall")
    assert document.read_text() == "# Ours\n\nMore.\n"


@pytest.mark.parametrize("arguments", [["nope"], ["--print", "--check"], ["cursor", "--all"], ["--scope", "world"]])
def test_wrong_usage_is_told(coderag, arguments) -> None:
    assert coderag("install", *arguments).exit_code == 2
