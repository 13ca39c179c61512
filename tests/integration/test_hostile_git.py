"""Every command that asks git, in a repository whose configuration of git names commands: none of them runs."""

import json
import os
import subprocess

import pytest
from mcp import Client
from typer.testing import CliRunner

from coderag.interfaces.cli.main import app
from coderag.interfaces.mcp.server import make_server
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.support.hostile_git import plant_commands, plant_environment, run_plainly, sign_head

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the canary is a shell script")

COMMANDS = {
    "index": ["index"],
    "index again": ["index", "--full"],
    "plan": ["index", "--plan"],
    "status": ["status"],
    "doctor": ["doctor", "--offline"],
    "search": ["search", "price", "--changed-since", "HEAD~1"],
    "search text": ["search", "--exact", "price", "--changed-since", "HEAD~1"],
    "context": ["context", "price", "--changed-since", "HEAD~1"],
    "ask": ["ask", "who calls price?", "--changed-since", "HEAD~1"],
    "graph": ["graph", "callers", "price"],
    "diff": ["diff", "--json"],
    "diff of commits": ["diff", "HEAD~2..HEAD", "--markdown"],
    "diff of staged changes": ["diff", "--staged", "--sarif"],
    "mine": ["eval", "mine", "--from", "commits,tests", "--since", "HEAD~2", "--out", "golden.jsonl"],
    "install": ["install", "--all", "--scope", "project", "--print"],
    "init": ["init", "--no-detect", "--force"],
    "trust": ["trust", "--yes"],
}


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def root(tmp_path, canary, monkeypatch):
    """A repository with three commits, a signed one, a submodule that is missing, and an edited file."""
    folder = tmp_path / "shop"
    folder.mkdir()
    run_plainly(folder, "init", "-q")
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil merge=evil\n")
    (folder / ".gitmodules").write_text(
        '[submodule "lib"]\n\tpath = lib\n\turl = ext::sh -c touch% ran\n\tupdate = !touch ran\n'
    )
    for total, message in (
        ("0", "Sell things"),
        ("item.cost", "Return the cost of an item"),
        ("max(0, item.cost)", "Never go below zero for goods"),
    ):
        (folder / "shop.py").write_text(
            f"def price(item):\n    return {total}\n\n\ndef sell(item):\n    return price(item)\n"
        )
        run_plainly(folder, "add", ".")
        run_plainly(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
        run_plainly(folder, "commit", "-q", "-m", message)
    sign_head(folder)
    (folder / "shop.py").write_text((folder / "shop.py").read_text().replace("0, ", "1, "))
    plant_commands(folder, canary)
    plant_environment(monkeypatch, canary)
    monkeypatch.setenv("CODERAG_INGESTION__WORKERS", "0")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=list(COMMANDS))
def test_no_command_of_the_repository_runs(root, canary, arguments) -> None:
    if arguments == ["status"]:
        CliRunner().invoke(app, ["index"])
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    assert not canary.exists(), canary.read_text()


def test_the_trap_works(root, canary) -> None:
    for arguments in (["status"], ["diff"], ["log", "-p", "--ext-diff"], ["add", "."]):
        canary.unlink(missing_ok=True)
        subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
        assert canary.exists(), arguments


def test_every_call_of_git_was_tried(root, monkeypatch) -> None:
    calls: list[list[str]] = []
    run = subprocess.run

    def record(line, **options):
        calls.append(line)
        return run(line, **options)

    monkeypatch.setattr("coderag.system.git.subprocess.run", record)
    for name in ("status", "doctor", "search", "mine"):
        CliRunner().invoke(app, COMMANDS[name], catch_exceptions=False)
    assert {"config", "ls-files", "ls-tree", "rev-list", "log", "diff-tree", "rev-parse"} <= {
        part for line in calls for part in line
    }


async def test_a_prompt_about_a_diff_runs_no_command_of_the_repository(root, canary, tmp_path) -> None:
    workspace = Workspace(WorkspaceOptions(allowed_roots=(tmp_path,), watch=False))
    try:
        workspace.open_repository(root).index().wait(120)
        async with Client(make_server(workspace, default_root=root)) as client:
            told = await client.get_prompt("impact_of_my_diff", {"base": "HEAD~2"})
    finally:
        workspace.close()
    assert "price" in json.dumps(told.model_dump(mode="json"))
    assert not canary.exists(), canary.read_text()
