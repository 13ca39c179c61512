"""The checks of the installation, the settings, the folder, its index and what goes on beside searching."""

import os
import socket
import sqlite3
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.engine.doctor import installation
from coderag.engine.doctor.examination import GROUPS, Examination
from coderag.prompting import read_prompt_text


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "session.py").write_text(
        'def login(user):\n    """Open a session."""\n    return user\n', encoding="utf-8"
    )
    return folder


@pytest.fixture
def check(root):
    """Check groups; return the checks by name."""

    def run(*groups, **options):
        checks = Examination(root, only=groups, **options).report().checks
        return {one.name: one for one in checks}

    return run


def git(root, *arguments):
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def write_settings(root, text, name=".coderag.yaml"):
    (root / name).write_text(text, encoding="utf-8")


# --- all together


def test_a_fresh_repository_fails_nothing(root, check):
    git(root, "init", "-q")
    checks = check()
    assert {name.partition(".")[0] for name in checks} == set(GROUPS) - {"storage", "telemetry"}
    assert [one.name for one in checks.values() if one.status == "failed"] == []
    assert checks["index.generation"].status == "note"
    assert not (root / ".coderag").exists()


def test_settings_that_may_not_be_looked_for_are_a_failed_check(root, check, monkeypatch):
    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_symlink", forbidden)
    monkeypatch.setattr(Path, "is_file", forbidden)
    assert check("settings")["settings.files"].error == "ConfigurationError"


def test_settings_that_cannot_be_used_do_not_keep_the_rest_from_being_checked(root, check):
    write_settings(root, "llm:\n  provder: ollama\n")
    checks = check()
    assert checks["settings.files"].error == "ConfigurationError"
    assert ".coderag.yaml, line 2: llm.provder: no such key" in checks["settings.files"].message
    assert checks["installation.grammars"].status == "ok"
    assert checks["repository.folder"].status in ("ok", "note")
    assert checks["llm"].status == "skipped"


def test_one_group_alone_says_why_it_cannot_be_checked(root, check):
    write_settings(root, "llm:\n  provder: ollama\n")
    (only,) = check("llm").values()
    assert (only.status, only.error) == ("failed", "ConfigurationError")
    assert "no such key" in only.message


# --- the installation


def test_the_installation_is_as_it_should_be(check):
    checks = check("installation")
    assert [one.status for one in checks.values()] == ["ok"] * 3
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in checks["installation.python"].message


class Declared(Distribution):
    """A distribution that asks for some packages."""

    version = "1.0"

    def __init__(self, *requires):
        self._requires = list(requires)

    requires = property(lambda self: self._requires)

    def read_text(self, filename):
        return None

    def locate_file(self, path):
        return path


def test_missing_packages_and_wrong_versions_are_told(check, monkeypatch):
    own = Declared(
        "no-such-package>=1", "typer<0.1", "rich>=14", 'pywin32; sys_platform == "nowhere"', 'x; extra == "e"'
    )
    monkeypatch.setattr(installation, "distribution", lambda name: own)
    packages = check("installation")["installation.packages"]
    assert packages.error == "ConfigurationError"
    wrong = packages.message.split("; ")
    assert wrong[0] == "no-such-package is not installed"
    assert wrong[1].startswith("typer is ")
    assert wrong[1].endswith("<0.1 is needed")
    assert len(wrong) == 2


# --- settings


def test_a_written_key_is_refused_and_not_shown(root, check):
    write_settings(root, "llm:\n  provider: openai\n  model: m\n  api_key: sk-0123456789abcdef\n")
    checks = check("settings")
    assert checks["settings.files"].status == "failed"
    assert not any("sk-0123" in one.message + one.hint for one in checks.values())


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_key_file_that_others_can_read_is_refused(root, check, tmp_path):
    key = tmp_path / "key"
    key.write_text("sk-0123456789abcdef\n", encoding="utf-8")
    key.chmod(0o644)
    write_settings(root, f"llm:\n  provider: openai\n  model: m\n  api_key_file: {key}\n")
    keys = check("settings")["settings.keys"]
    assert (keys.status, keys.hint) == ("failed", f"Run `chmod 600 {key}`.")
    key.chmod(0o600)
    assert check("settings")["settings.keys"].status == "ok"


def test_a_password_in_the_address_of_the_conversations_is_refused(root, check, monkeypatch):
    monkeypatch.setenv("CHAT_PASSWORD", "hunter2secret")
    address = "chat:\n  memory: postgres\n  url: postgresql://me:{}@localhost/chat\n"
    write_settings(root, address.format("hunter2secret"))
    keys = check("settings")["settings.keys"]
    assert keys.status == "failed"
    assert "hunter2" not in keys.message + keys.hint
    write_settings(root, address.format("${CHAT_PASSWORD}"))
    assert check("settings")["settings.keys"].status == "ok"


def test_local_settings_belong_out_of_git(root, check):
    git(root, "init", "-q")
    write_settings(root, "project: mine\n", ".coderag.local.yaml")
    assert check("settings")["settings.keys"].status == "note"
    git(root, "add", ".coderag.local.yaml")
    keys = check("settings")["settings.keys"]
    assert (keys.status, keys.message) == ("failed", ".coderag.local.yaml is tracked by git")
    git(root, "rm", "-q", "--cached", ".coderag.local.yaml")
    (root / ".gitignore").write_text(".coderag.local.yaml\n", encoding="utf-8")
    assert check("settings")["settings.keys"].status == "ok"


def test_an_extra_that_is_not_installed_is_told_with_how_to_install_it(root, check, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_index.llms.anthropic", None)
    write_settings(root, "llm:\n  provider: anthropic\n  model: m\n")
    extras = check("settings")["settings.extras"]
    assert extras.status == "failed"
    assert '".[anthropic]"' in extras.hint


def test_own_prompts_are_checked(root, check):
    folder = root / ".coderag/prompts"
    folder.mkdir(parents=True)
    text = read_prompt_text("rewrite_queries")
    own = folder / "rewrite_queries.md"
    own.write_text(text, encoding="utf-8")
    assert check("settings")["settings.prompts"].message == "custom prompts: rewrite_queries"
    own.write_text(text.replace("version: 2", "version: 1"), encoding="utf-8")
    assert check("settings")["settings.prompts"].status == "note"
    own.write_text(text.replace("{{question}}", "{{query}}"), encoding="utf-8")
    prompts = check("settings")["settings.prompts"]
    assert prompts.status == "failed"
    assert str(own) in prompts.message
    own.rename(folder / "rewrite_querys.md")
    assert "rewrite_querys" in check("settings")["settings.prompts"].message


# --- the folder and its index


def test_a_folder_that_is_none_is_refused(root, check):
    (root / "session.py").unlink()
    root.rmdir()
    found = check("repository")
    assert found["repository.folder"].error == "IngestionError"
    assert found["repository.storage"].status == "skipped"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_a_folder_that_cannot_be_written_is_told(root, check):
    root.chmod(0o500)
    storage = check("repository")["repository.storage"]
    root.chmod(0o700)
    assert storage.error == "StoreError"


def test_the_folder_of_the_index_may_be_a_file_that_is_in_the_way(root, check):
    (root / "taken").write_text("", encoding="utf-8")
    write_settings(root, "storage:\n  directory: taken\n")
    assert check("repository")["repository.storage"].error == "StoreError"


def test_an_index_is_looked_at(root, check):
    rag = CodeRAG(root, ingestion={"workers": 0})
    rag.index()
    checks = check("index")
    assert [one.status for one in checks.values()] == ["ok"] * 3
    assert "generation 1" in checks["index.generation"].message
    (root / "more.py").write_text("x = 1\n", encoding="utf-8")
    assert check("index")["index.files"].message == "out of date: 1 added"
    write_settings(root, "embedding:\n  provider: ollama\n")
    embedding = check("index")["index.embedding"]
    assert (embedding.status, embedding.error) == ("failed", "IndexModelError")
    (root / ".coderag/v1/CURRENT").write_text("damaged", encoding="utf-8")
    checks = check("index")
    assert checks["index.generation"].error == "StoreError"
    assert checks["index.files"].status == "skipped"


def test_a_damaged_index_is_no_fault_of_the_model(root, check):
    CodeRAG(root, ingestion={"workers": 0}).index()
    (root / ".coderag/v1/CURRENT").write_text("damaged", encoding="utf-8")
    assert check("embedding")["embedding.request"].status == "ok"


# --- beside searching


def test_conversations_that_cannot_be_opened_are_told(root, check):
    (root / ".coderag").mkdir()
    assert check("chat")["chat.memory"].message == "sqlite: 0 conversations"
    (root / ".coderag/chat.sqlite").write_bytes(b"no database" * 1_000)
    assert check("chat")["chat.memory"].error == "StoreError"


def test_conversations_are_counted(root, check):
    (root / ".coderag").mkdir()
    sqlite3.connect(root / ".coderag/chat.sqlite").close()
    assert check("chat")["chat.memory"].status == "ok"


def test_a_database_server_that_is_not_there_is_told_without_its_password(root, check, monkeypatch):
    monkeypatch.setenv("CHAT_PASSWORD", "hunter2secret")
    url = f"postgresql://me:${{CHAT_PASSWORD}}@127.0.0.1:{closed_port()}/chat"
    write_settings(root, f"chat:\n  memory: postgres\n  url: {url}\n")
    memory = check("chat")["chat.memory"]
    assert memory.status == "failed"
    assert "hunter2" not in memory.message + memory.hint
    assert check("chat", offline=True)["chat.memory"].status == "skipped"


def test_where_spans_go_is_connected_to(root, check, monkeypatch):
    write_settings(root, "telemetry:\n  traces: otlp\n")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:hunter2secret@127.0.0.1:{closed_port()}")
    endpoint = check("telemetry")["telemetry.endpoint"]
    assert endpoint.status == "failed"
    assert "hunter2" not in endpoint.message
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert check("telemetry")["telemetry.endpoint"].status == "ok"


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
