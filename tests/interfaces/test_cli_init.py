"""The settings file that explains itself."""

import io
import json
import os
import re
import socket
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from coderag.config.settings import Settings
from coderag.interfaces.cli.commands import init as module
from coderag.interfaces.cli.commands.init import render_settings_template
from coderag.interfaces.cli.commands.init_ollama import _parse_host
from coderag.interfaces.cli.main import app
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer


def keys_of(model: type[BaseModel], above: str = "") -> set[str]:
    keys = set()
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys |= keys_of(kind, f"{above}{name}.")
        else:
            keys.add(above + name)
    return keys


def uncommented(template: str) -> str:
    """Do what the file's head says to all lines that are a key."""
    text = re.sub(r"^  #   ", "    ", template, flags=re.MULTILINE)
    return re.sub(r"^( *)# ([a-z_]+:(?: .*[^.])?)$", r"\1\2", text, flags=re.MULTILINE)


def flattened(values: dict, above: str = "") -> dict[str, object]:
    flat = {}
    for key, value in values.items():
        flat |= flattened(value, f"{above}{key}.") if isinstance(value, dict) and value else {above + key: value}
    return flat


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CODERAG_")]:
        monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as server:  # where nobody is, whatever else runs on this machine
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.getsockname()[1]}")


def test_the_file_as_written_means_the_defaults(coderag, tmp_path: Path) -> None:
    assert coderag("init").exit_code == 0
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()


def test_it_has_every_key_with_its_default(tmp_path: Path) -> None:
    text = uncommented(render_settings_template())
    assert set(flattened(yaml.safe_load(text))) == keys_of(Settings)
    (tmp_path / ".coderag.yaml").write_text(text, encoding="utf-8")
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()


def test_it_has_every_description() -> None:
    text = render_settings_template()

    def check(model: type[BaseModel]) -> None:
        for field in model.model_fields.values():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(field.annotation)
            else:
                assert field.description
                assert field.description in text

    check(Settings)


def test_it_says_what_values_are_allowed() -> None:
    text = render_settings_template()
    assert "One of: none, queries, hypothetical.\n  # rewrite: none\n" in text
    assert "1 to 200.\n  # top_k: 10\n" in text
    assert "At least 1,024.\n  # context_window: " in text
    assert "More than 0.\n  # timeout_s:" in text


def test_lines_are_not_too_long_to_read() -> None:
    assert max(map(len, render_settings_template().splitlines())) <= 140


def test_init_prints_the_path(coderag, tmp_path: Path) -> None:
    result = coderag("init")
    assert result.stdout == f"{tmp_path / '.coderag.yaml'}\n"
    assert result.stderr == ""


def test_init_never_overwrites(coderag, tmp_path: Path) -> None:
    (tmp_path / ".coderag.yaml").write_text("project: mine\n", encoding="utf-8")
    result = coderag("init")
    assert result.exit_code == 3
    assert "already exists\nhint: --force overwrites it.\n" in result.stderr
    assert (tmp_path / ".coderag.yaml").read_text(encoding="utf-8") == "project: mine\n"


def test_force_overwrites(coderag, tmp_path: Path) -> None:
    (tmp_path / ".coderag.yaml").write_text("project: mine\n" * 1_000, encoding="utf-8")
    result = coderag("init", "--force", "--json")
    path = (tmp_path / ".coderag.yaml").as_posix()
    expected = {"path": path, "overwritten": True, "chosen": {}, "found": None, "trusted": True}
    assert json.loads(result.stdout) == expected
    assert (tmp_path / ".coderag.yaml").read_text(encoding="utf-8") == render_settings_template()


def test_in_a_git_repository_it_advises_to_ignore_secrets(coderag, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert ".coderag.local.yaml to .gitignore" in coderag("init").stderr
    (tmp_path / ".gitignore").write_text("*.pyc\n/.coderag.local.yaml\n", encoding="utf-8")
    assert coderag("init", "--force").stderr == ""


def test_the_repository_itself_is_left_alone(coderag, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    coderag("init")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".coderag.yaml", ".git"]


def test_a_folder_that_is_none_is_refused(coderag, tmp_path: Path) -> None:
    result = coderag("init", "-C", str(tmp_path / "nowhere"))
    assert (result.exit_code, result.stdout) == (4, "")
    assert "nowhere: no such directory" in result.stderr


def test_the_home_folder_is_refused(coderag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert coderag("init").exit_code == 4
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_a_clear_error(coderag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMITTED_FILE", "no/such/folder.yaml")
    result = coderag("init")
    assert result.exit_code == 3
    assert "cannot be written: No such file or directory" in result.stderr


# --- models


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch):
    """A running Ollama with three models."""
    with OllamaServer(("nomic-embed-text", "qwen2.5-coder:7b", "llama3.2")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def person(coderag, monkeypatch: pytest.MonkeyPatch):
    """Run ``init`` in a terminal where somebody types; return what is shown on standard error."""

    def run(typed: str, *arguments: str) -> str:
        streams = {"stdin": Terminal(typed), "stdout": Terminal(), "stderr": Terminal()}
        for name, stream in streams.items():
            monkeypatch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as ended:
            app(["init", *arguments])
        assert ended.value.code == 0
        return streams["stderr"].getvalue()

    return run


def test_given_models_are_written_and_all_else_stays_the_default(coderag, tmp_path: Path) -> None:
    models = ("--llm", "ollama/qwen2.5-coder:7b", "--embedding", "openai/org/model")
    assert coderag("init", "--no-detect", *models).exit_code == 0
    settings = Settings.load(tmp_path)
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "qwen2.5-coder:7b")
    assert (settings.embedding.provider, settings.embedding.model) == ("openai", "org/model")
    assert settings.model_dump(exclude={"llm", "embedding"}) == Settings().model_dump(exclude={"llm", "embedding"})
    text = (tmp_path / ".coderag.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(render_settings_template().splitlines())


def test_a_provider_alone_takes_its_default_model(coderag, tmp_path: Path) -> None:
    assert coderag("init", "--no-detect", "--llm", "ollama").exit_code == 0
    assert (Settings.load(tmp_path).llm.provider, Settings.load(tmp_path).llm.model) == ("ollama", "")


def test_a_provider_that_there_is_not_is_refused(coderag, tmp_path: Path) -> None:
    result = coderag("init", "--llm", "voyage/voyage-code-3")
    assert result.exit_code == 3
    assert "--llm: unknown provider 'voyage'" in result.stderr
    assert "none, ollama, openai, anthropic, gemini" in result.stderr
    assert not list(tmp_path.iterdir())


def test_in_a_pipe_a_running_ollama_is_told_and_not_used(coderag, tmp_path: Path, ollama) -> None:
    result = coderag("init")
    assert result.stdout == f"{tmp_path / '.coderag.yaml'}\n"
    assert f"Ollama at {ollama.url} has models for answers: qwen2.5-coder:7b, llama3.2;" in result.stderr
    assert "coderag init --force --llm ollama/qwen2.5-coder:7b --embedding ollama/nomic-embed-text\n" in result.stderr
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()
    assert {request.path for request in ollama.requests} == {"/api/tags", "/api/show"}


def test_json_has_what_was_found(coderag, ollama) -> None:
    told = json.loads(coderag("init", "--json").stdout)
    models = {"answers": ["qwen2.5-coder:7b", "llama3.2"], "embedding": ["nomic-embed-text"]}
    assert told["found"] == {"address": ollama.url, **models}


def test_nobody_is_looked_for_if_not_wanted(coderag, ollama) -> None:
    assert json.loads(coderag("init", "--no-detect", "--json").stdout)["found"] is None
    assert ollama.requests == []


def test_a_person_chooses_by_number_or_name(person, tmp_path: Path, ollama) -> None:
    shown = person("2\nnomic-embed-text\n")
    settings = Settings.load(tmp_path)
    assert (settings.llm.provider, settings.llm.model, settings.llm.base_url) == ("ollama", "llama3.2", ollama.url)
    assert (settings.embedding.provider, settings.embedding.model) == ("ollama", "nomic-embed-text")
    assert "  1  qwen2.5-coder:7b\n  2  llama3.2\n" in shown


@pytest.mark.parametrize("typed", ["\n\n", ""])
def test_whoever_only_presses_enter_or_leaves_gets_the_defaults(person, tmp_path: Path, ollama, typed: str) -> None:
    person(typed)
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()


def test_a_choice_that_is_none_is_asked_for_again(person, tmp_path: Path, ollama) -> None:
    shown = person("9\n\x1b[A\n1\n\n")
    assert "'9' is not in the list." in shown
    assert "\x1b" not in shown
    assert Settings.load(tmp_path).llm.model == "qwen2.5-coder:7b"


def test_what_was_given_is_not_asked_for(person, tmp_path: Path, ollama) -> None:
    shown = person("1\n", "--llm", "ollama/mistral")
    assert "write answers" not in shown
    assert Settings.load(tmp_path).embedding.model == "nomic-embed-text"
    assert "has no model mistral: fetch it with `ollama pull mistral`" in shown


def test_the_ollama_of_the_settings_comes_before_the_environments(coderag, tmp_path: Path, ollama) -> None:
    with OllamaServer(("mistral",)) as other:
        settings = f"llm: {{provider: ollama, base_url: '{other.url}'}}"
        (tmp_path / ".coderag.yaml").write_text(settings, encoding="utf-8")
        assert json.loads(coderag("init", "--force", "--json").stdout)["found"]["answers"] == ["mistral"]
    assert ollama.requests == []


def test_an_ollama_that_does_not_answer_in_time_is_none(coderag, ollama) -> None:
    ollama.next(Reply({}, delay_s=30))
    result = coderag("init")
    assert (result.exit_code, result.stderr) == (0, "")


def test_something_else_on_its_port_is_none(coderag, ollama) -> None:
    ollama.next(Reply("<html>"))
    result = coderag("init")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("", ""),
        ("0.0.0.0", "http://localhost:11434"),
        ("0.0.0.0:1234", "http://localhost:1234"),
        ("[::]:1234", "http://localhost:1234"),
        ("gpu.example", "http://gpu.example:11434"),
        ("http://gpu.example", "http://gpu.example:80"),
        ("https://gpu.example/", "https://gpu.example:443"),
        ("[2001:db8::1]", "http://[2001:db8::1]:11434"),
        (":1234", "http://localhost:1234"),
        ("gpu.example:port", ""),
    ],
)
def test_the_variable_of_ollama_may_lack_scheme_and_port(variable: str, address: str) -> None:
    assert _parse_host(variable) == address
