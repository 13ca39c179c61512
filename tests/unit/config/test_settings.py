import os
import re

import pytest
from pydantic import BaseModel, ValidationError

from coderag.config.settings import Settings
from coderag.errors import ConfigurationError

SECRET = "sk-never-shown-4711"


def load(root, text="", local=None, **arguments):
    (root / ".coderag.yaml").write_text(text, encoding="utf-8")
    if local is not None:
        path = root / ".coderag.local.yaml"
        path.write_text(local, encoding="utf-8")
        path.chmod(0o600)
    return Settings.load(root, **arguments)


def values(settings):
    return settings.model_dump()


def refused(root, *texts, **arguments):
    with pytest.raises(ConfigurationError) as caught:
        load(root, *texts, **arguments)
    return caught.value


# Where a value comes from


def test_without_any_source_the_defaults_hold(tmp_path):
    settings = Settings.load(tmp_path)
    assert values(settings) == values(Settings())
    assert (settings.search.top_k, settings.embedding.provider, settings.llm.provider) == (10, "embedded", "none")


@pytest.mark.parametrize(
    ("sources", "top_k"),
    [
        (("file",), 1),
        (("file", "local"), 2),
        (("file", "local", "environment"), 3),
        (("file", "local", "environment", "argument"), 4),
        (("local",), 2),
        (("file", "environment"), 3),
        (("file", "argument"), 4),
    ],
)
def test_arguments_win_over_environment_local_file_file_and_defaults(tmp_path, monkeypatch, sources, top_k):
    if "environment" in sources:
        monkeypatch.setenv("CODERAG_SEARCH__TOP_K", "3")
    settings = load(
        tmp_path,
        "search: {top_k: 1}" if "file" in sources else "",
        "search: {top_k: 2}" if "local" in sources else "",
        **({"search": {"top_k": 4}} if "argument" in sources else {}),
    )
    assert settings.search.top_k == top_k


def test_sources_are_merged_key_by_key(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_INGESTION__CHUNK__MAX_TOKENS", "300")
    settings = load(
        tmp_path,
        "ingestion:\n  max_file_bytes: 5000\n  chunk:\n    max_tokens: 200\n    min_tokens: 7\n",
        "ingestion:\n  workers: 3\n",
        ingestion={"exclude": ("*.sql",)},
    )
    found = settings.ingestion
    assert (found.max_file_bytes, found.workers, found.exclude) == (5000, 3, ("*.sql",))
    assert (found.chunk.max_tokens, found.chunk.min_tokens) == (300, 7)


def test_lists_of_a_later_source_replace_those_of_an_earlier(tmp_path):
    settings = load(tmp_path, "ingestion: {exclude: [a, b]}", "ingestion: {exclude: [c]}")
    assert settings.ingestion.exclude == ("c",)


def test_a_list_in_the_environment_is_json(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_INGESTION__EXCLUDE", '["*.sql", "data/"]')
    assert Settings.load(tmp_path).ingestion.exclude == ("*.sql", "data/")


def test_two_repositories_have_settings_of_their_own(tmp_path):
    for name, top_k in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".coderag.yaml").write_text(f"search: {{top_k: {top_k}}}")
    assert [Settings.load(tmp_path / name).search.top_k for name in ("one", "two", "one")] == [1, 2, 1]


def test_an_env_file_is_not_read(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("CODERAG_SEARCH__TOP_K=77\n")
    monkeypatch.chdir(tmp_path)
    assert Settings.load(tmp_path).search.top_k == 10


@pytest.mark.parametrize("section", ["privacy", "service", "search", "ingestion"])
def test_an_empty_section_is_no_section(tmp_path, section):
    assert values(load(tmp_path, f"{section}:\n")) == values(Settings())


# Faults are shown where they are


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("search:\n  top_k: 1\n  topk: 2\n", r"^\.coderag\.yaml, line 3: search\.topk: no such key$"),
        ("serch:\n  top_k: 1\n", r"^\.coderag\.yaml, line 1: serch: no such key$"),
        ("version: 1\nsearch:\n  top_k: many\n", r"^\.coderag\.yaml, line 3: search\.top_k: .*valid integer"),
        ("search:\n  top_k: 0\n", r"^\.coderag\.yaml, line 2: search\.top_k: .*greater than or equal to 1$"),
        ("search:\n  rewrite: best\n", r"^\.coderag\.yaml, line 2: search\.rewrite: .*'none', 'queries' or 'hypothetical'$"),
        ("ingestion:\n  exclude:\n    - a\n    - [b]\n", r"^\.coderag\.yaml, line 4: ingestion\.exclude\.1: .*string$"),
        ("version: 2\n", r"^\.coderag\.yaml, line 1: version: .*1$"),
        ("search: 5\n", r"^\.coderag\.yaml, line 1: search: expected a section"),
        ("ingestion:\n  exclude: x\n", r"^\.coderag\.yaml, line 2: ingestion\.exclude: expected a list"),
        ("service:\n  path: x\n", r"^\.coderag\.yaml, line 2: service\.path: no such key$"),
        ("ingestion:\n  chunk:\n    max_tokens: 1\n", r"^\.coderag\.yaml, line 3: ingestion\.chunk\.max_tokens: "),
    ],
)  # fmt: skip
def test_a_fault_in_the_file_is_told_with_its_line_and_key(tmp_path, text, told):
    error = refused(tmp_path, text)
    assert re.search(told, str(error))
    assert error.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("serch:\n  top_k: 1\n", "Did you mean search?"),
        ("search:\n  topk: 2\n", "Did you mean search.top_k?"),
        ("ingestion:\n  chunk:\n    max_token: 100\n", "Did you mean ingestion.chunk.max_tokens?"),
        ("search:\n  colour: 2\n", "`coderag init` in an empty folder writes a file that explains every key."),
    ],
)
def test_a_misspelt_key_is_told_with_the_one_that_was_meant(tmp_path, text, hint):
    assert refused(tmp_path, text).hint == hint


def test_all_faults_are_told_at_once(tmp_path):
    message = str(refused(tmp_path, "search:\n  top_k: 0\nserch: 1\n"))
    assert "line 2: search.top_k" in message
    assert "line 3: serch" in message


def test_a_fault_in_the_local_file_names_that_file(tmp_path):
    error = refused(tmp_path, "search: {top_k: 5}\n", "\nsearch:\n  top_k: none\n")
    assert str(error).startswith(".coderag.local.yaml, line 3: search.top_k: ")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CODERAG_LM__MODEL", "Did you mean CODERAG_LLM__MODEL?"),
        ("CODERAG_SEARCH__TOPK", "Did you mean CODERAG_SEARCH__TOP_K?"),
        ("CODERAG_UNKNOWN", "`coderag init` in an empty folder writes a file that explains every key."),
    ],
)
def test_an_unknown_variable_is_told_with_one_that_it_is_like_or_where_all_are(tmp_path, monkeypatch, name, hint):
    monkeypatch.setenv(name, "1")
    assert refused(tmp_path, "").hint == hint


def test_variables_of_the_team_server_are_no_settings_of_a_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_SERVER_DATA", "/data/server")
    assert Settings.load(tmp_path).search.top_k > 0
    monkeypatch.setenv("CODERAG_SERVE_DATA", "/data/server")
    assert "CODERAG_SERVE_DATA" in str(refused(tmp_path, ""))


def test_a_fault_in_the_environment_is_not_blamed_on_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_SEARCH__TOP_K", "many")
    error = refused(tmp_path, "search:\n  top_k: 5\n")
    assert str(error).startswith("environment variable CODERAG_SEARCH__TOP_K: ")


def test_a_fault_in_the_environment_is_not_blamed_on_the_section_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_SEARCH__RRF_K", "many")
    error = refused(tmp_path, "search:\n  top_k: 5\n")
    assert str(error).startswith("environment variable CODERAG_SEARCH__RRF_K: ")


def test_a_fault_in_an_argument_is_not_blamed_on_the_file(tmp_path):
    error = refused(tmp_path, "search:\n  top_k: 5\n", search={"top_k": 0})
    assert str(error).startswith("argument search.top_k: ")


@pytest.mark.parametrize(
    ("variable", "value"), [("CODERAG_INGESTION__EXCLUDE", "*.sql"), ("CODERAG_SEARCH", "{broken")]
)
def test_what_should_be_json_in_the_environment_and_is_not_names_the_variable(tmp_path, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    error = refused(tmp_path)
    assert variable in str(error)
    assert "JSON" in str(error) + error.hint


def test_an_unknown_argument_is_refused(tmp_path):
    assert "serch" in str(refused(tmp_path, serch={}))


def test_an_unknown_variable_is_refused_with_the_nearest_known_one(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_SEARCH__TOPK", "5")
    error = refused(tmp_path)
    assert "CODERAG_SEARCH__TOPK" in str(error)
    assert error.hint == "Did you mean CODERAG_SEARCH__TOP_K?"


def test_variables_of_other_programs_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAGE_HOME", "/x")
    monkeypatch.setenv("TOP_K", "3")
    assert values(Settings.load(tmp_path)) == values(Settings())


# Secrets


def test_a_secret_is_not_in_the_representation(tmp_path):
    settings = load(tmp_path, "", f"embedding: {{api_key: {SECRET}}}")
    assert settings.embedding.api_key.get_secret_value() == SECRET
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    "text", ["embedding: {{api_key: [{0}]}}", "embedding: {{api_key: {0}, nonsense: {0}}}", "embedding: {0}"]
)
def test_a_secret_is_not_in_an_error(tmp_path, text):
    assert SECRET not in str(refused(tmp_path, "", text.format(SECRET)))


@pytest.mark.parametrize(
    ("section", "setting"), [("embedding", "api_key"), ("llm", "api_key"), ("graph", "password"), ("privacy", "key")]
)
def test_a_secret_in_the_file_that_git_keeps_is_refused_and_not_repeated(tmp_path, section, setting):
    error = refused(tmp_path, f"project: x\n{section}:\n  {setting}: {SECRET}\n")
    assert str(error).startswith(f".coderag.yaml, line 3: {section}.{setting}: secrets do not belong in this file")
    assert "${NAME}" in error.hint
    assert ".coderag.local.yaml" in error.hint
    assert ("api_key_file" in error.hint) is (setting == "api_key")
    assert SECRET not in f"{error}{error.hint}"


@pytest.mark.parametrize("text", ["${MY_KEY}", "'${MY_KEY}'", "sk-${MY_KEY}", "''"])
def test_a_secret_of_the_environment_may_be_named_in_it(tmp_path, monkeypatch, text):
    monkeypatch.setenv("MY_KEY", SECRET)
    load(tmp_path, f"llm:\n  api_key: {text}\n")


def test_what_only_looks_like_a_variable_is_a_secret_too(tmp_path):
    assert "secrets do not belong" in str(refused(tmp_path, r"llm: {api_key: '\${SECRET}'}"))


@pytest.mark.skipif(os.name != "posix", reason="a file's mode does not say who reads it")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_secret_in_a_file_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / ".coderag.local.yaml"
    path.write_text(f"llm:\n  api_key: {SECRET}\n", encoding="utf-8")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=r"local\.yaml, line 2: llm\.api_key: others can read") as caught:
        Settings.load(tmp_path)
    assert caught.value.hint == f"Run `chmod 600 {path}`."
    path.chmod(0o600)
    assert Settings.load(tmp_path).llm.api_key.get_secret_value() == SECRET


def test_a_file_without_secrets_may_be_read_by_all(tmp_path):
    path = tmp_path / ".coderag.local.yaml"
    path.write_text("search:\n  top_k: 3\n", encoding="utf-8")
    path.chmod(0o644)
    assert Settings.load(tmp_path).search.top_k == 3


# The model


def test_settings_cannot_be_changed():
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.project = "x"
    with pytest.raises(ValidationError):
        settings.search.top_k = 1


def _fields(model, prefix=""):
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def test_every_value_has_a_description():
    assert [name for name, field in _fields(Settings) if not field.description] == []
