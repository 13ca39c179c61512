"""``coderag sources``."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from coderag.config.trust import is_trusted, revoke_trust, trust
from coderag.sources.connector_table import CONNECTORS
from tests.support.item_server import ItemServer

KEY = "s3cret-key-of-the-tracker"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with two documents beside the repository, which is the current folder."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\nText of {name}.\n", encoding="utf-8")
    return folder


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Iterator[ItemServer]:
    """A server that is read by the settings of a Jira, with four tickets; its key is in the environment."""
    monkeypatch.setitem(CONNECTORS, "jira", "tests.support.item_server:open_item_server")
    monkeypatch.setenv("TRACKER_KEY", KEY)
    with ItemServer(KEY) as server:
        for number in range(4):
            server.add_item(f"Ticket {number}", f"Text {number}")
        yield server


def read_settings(tmp_path: Path) -> dict:
    return yaml.safe_load((tmp_path / ".coderag.yaml").read_text(encoding="utf-8"))


def test_added_source_is_checked_written_and_synchronised(coderag, tmp_path: Path, docs: Path) -> None:
    (tmp_path / ".coderag.yaml").write_text("version: 1  # mine\n", encoding="utf-8")
    added = coderag("sources", "add", "handbook", "files", "path=docs")

    assert added.exit_code == 0
    assert added.stdout == f"added handbook: {docs}, 2 files\n"
    assert "# mine" in (tmp_path / ".coderag.yaml").read_text(encoding="utf-8")
    assert read_settings(tmp_path)["sources"] == {"handbook": {"system": "files", "path": "docs"}}

    synced = coderag("sources", "sync")
    assert (synced.exit_code, synced.stdout) == (0, "handbook: complete, 2 added\n")
    (docs / "one.md").write_text("# One\n\nChanged.\n", encoding="utf-8")
    assert coderag("sources", "sync", "handbook").stdout == "handbook: complete, 1 changed\n"
    assert coderag("sources", "list").stdout == "handbook  files, docs, 2 items\n"


def test_source_whose_check_fails_is_not_written(coderag, tmp_path: Path) -> None:
    result = coderag("sources", "add", "handbook", "files", "path=nowhere")

    assert result.exit_code == 35
    assert "nowhere does not exist" in result.stderr
    assert not (tmp_path / ".coderag.yaml").exists()


def test_address_of_an_own_server_is_approved_in_the_local_file(
    coderag, tmp_path: Path, tracker: ItemServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coderag.config.credential_destinations.is_this_machine", lambda _: False)
    arguments = ("tracker", "jira", f"address={tracker.address}", "projects=A,B", "--token-env", "TRACKER_KEY")
    result = coderag("sources", "add", *arguments, "--json")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["scope"] == "all items"
    local = tmp_path / ".coderag.local.yaml"
    assert yaml.safe_load(local.read_text())["sources"] == {"tracker": {"address": tracker.address}}
    assert local.stat().st_mode & 0o077 == 0
    assert read_settings(tmp_path)["sources"]["tracker"] == {
        "system": "jira",
        "address": tracker.address,
        "projects": ["A", "B"],
        "token": "${TRACKER_KEY}",
    }
    assert KEY not in "".join(path.read_text() for path in tmp_path.glob(".coderag*"))
    assert coderag("sources", "sync").stdout == "tracker: complete, 4 added\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "jira", "token=abc"), "--token-env"),
        (("x", "jira", "adress=1"), "adress=1"),
        (("x", "jura"), "jura"),
        (("x", "jira"), "sources.x.address: this key is required"),
        (("X!", "files", "path=."), "not a name of a source"),
        (("x", "jira", "--token-env", "A B"), "not a name of a variable"),
        (("x", "jira", "--token-env", "NONE_SUCH"), "NONE_SUCH is not set"),
        ((), "name the source and its system"),
    ],
)
def test_wrong_arguments_are_explained_and_nothing_is_written(coderag, tmp_path: Path, arguments, message: str) -> None:
    result = coderag("sources", "add", *arguments)

    assert result.exit_code in {2, 3}
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / ".coderag.yaml").exists()


def test_keys_of_a_system_are_explained(coderag) -> None:
    assert "site   " in coderag("sources", "add", "--keys", "sharepoint").stdout
    keys = json.loads(coderag("sources", "add", "--keys", "azure-devops", "--json").stdout)["keys"]
    assert {"organization", "projects", "token"} <= {row["key"] for row in keys}


def test_failed_source_is_a_line_and_does_not_stop_the_others(
    coderag, tmp_path: Path, docs: Path, tracker: ItemServer
) -> None:
    coderag(
        "sources", "add", "tracker", "jira", f"address={tracker.address}", "projects=A", "--token-env", "TRACKER_KEY"
    )
    coderag("sources", "add", "zoo", "files", "path=docs")
    tracker.refuse_key()
    result = coderag("sources", "sync")

    assert result.exit_code == 35
    assert result.stdout.splitlines() == [
        f"tracker: failed, nothing changed: {tracker.address} refused the key.",
        "zoo: complete, 2 added",
    ]
    status = coderag("sources", "status", "tracker")
    assert "refused the key" in status.stdout
    assert "by the next `coderag sources sync tracker`" in status.stdout
    assert KEY not in status.stdout


def test_variable_that_is_gone_is_an_error_of_the_settings(
    coderag, tracker: ItemServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    coderag(
        "sources", "add", "tracker", "jira", f"address={tracker.address}", "projects=A", "--token-env", "TRACKER_KEY"
    )
    monkeypatch.setenv("TRACKER_KEY", "")
    result = coderag("sources", "sync")

    assert result.exit_code == 35
    assert "127.0.0.1 needs a credential" in result.stdout


def test_status_lists_items_that_could_not_be_read(coderag, docs: Path) -> None:
    (docs / "bad.yaml").write_text("openapi: [\n", encoding="utf-8")
    coderag("sources", "add", "handbook", "files", "path=docs")
    assert "not synchronised" not in coderag("sources", "status").stdout
    assert "run `coderag sources sync handbook`" in coderag("sources", "status").stdout
    result = coderag("sources", "sync")
    assert result.exit_code == 0
    assert "coderag sources status" in result.stderr

    text = coderag("sources", "status").stdout
    assert "bad.yaml: it is not valid YAML in line" in text
    assert "(tried once)" in text
    (status,) = json.loads(coderag("sources", "status", "--json").stdout)["sources"]
    assert status["counts"]["kinds"] == {"file": 2}
    assert status["last_run"]["outcome"] == "complete"
    assert status["failures"][0]["id"] == "bad.yaml"


def test_removed_source_loses_settings_and_mirror_after_confirmation(coderag, tmp_path: Path, docs: Path) -> None:
    coderag("sources", "add", "handbook", "files", "path=docs")
    coderag("sources", "sync")
    refused = coderag("sources", "remove", "handbook")
    assert refused.exit_code == 2
    assert "--yes" in refused.stderr

    result = coderag("sources", "remove", "handbook", "--yes")
    assert (result.exit_code, result.stdout) == (0, "removed handbook with 2 mirrored items\n")
    assert not read_settings(tmp_path).get("sources")
    assert list((tmp_path / ".coderag" / "sources").rglob("*.md")) == []
    assert (docs / "one.md").exists()
    assert coderag("sources", "remove", "handbook", "--yes").exit_code == 2


def test_mirror_of_a_source_that_left_the_settings_is_listed_until_removed(coderag, tmp_path: Path, docs: Path) -> None:
    coderag("sources", "add", "handbook", "files", "path=docs")
    coderag("sources", "sync")
    (tmp_path / ".coderag.yaml").unlink()

    assert coderag("sources", "list").stdout == "handbook  no longer in the settings, 2 items\n"
    assert coderag("sources", "remove", "handbook", "--yes").exit_code == 0
    assert "coderag sources add" in coderag("sources", "list").stderr


def test_source_in_an_untrusted_repository_is_used_only_if_nothing_else_needs_trust(
    coderag, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, docs: Path
) -> None:
    revoke_trust(tmp_path_factory.getbasetemp())
    try:
        (tmp_path / ".coderag.yaml").write_text("llm: {provider: ollama}\n", encoding="utf-8")
        result = coderag("sources", "add", "handbook", "files", "path=docs")
        assert "coderag trust" in result.stderr
        assert not is_trusted(tmp_path)

        (tmp_path / ".coderag.yaml").unlink()
        coderag("sources", "add", "handbook", "files", "path=docs")
        assert is_trusted(tmp_path)
    finally:
        trust(tmp_path_factory.getbasetemp())


def test_commands_without_sources_say_how_to_begin(coderag) -> None:
    for command in ("sync", "list", "status"):
        result = coderag("sources", command)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "coderag sources add" in result.stderr
    assert json.loads(coderag("sources", "sync", "--json").stdout) == {"runs": []}
    assert coderag("sources", "sync", "none-such").exit_code == 2
