"""What the files of a repository that nobody trusts can say."""

import os
from pathlib import Path

import pytest
from pydantic import BaseModel

from coderag.config.restrictions import RULES, find_rule
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError


def leaves(model: type[BaseModel], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += leaves(field.annotation, (*above, name))
        else:
            found.append((*above, name))
    return found


def load(root, text, name=".coderag.yaml") -> Settings:
    (root / name).write_text(text, encoding="utf-8")
    if name != ".coderag.yaml":
        (root / name).chmod(0o600)
    return Settings.load(root, trusted=False)


@pytest.mark.parametrize("keys", leaves(Settings), ids=".".join)
def test_every_setting_has_a_rule_with_a_reason(keys) -> None:
    assert any(".".join(keys[:length]) in RULES for length in range(1, len(keys) + 1))
    assert find_rule(keys).reason


def test_every_rule_is_of_a_setting() -> None:
    names = {".".join(keys[:length]) for keys in leaves(Settings) for length in range(1, len(keys) + 1)}
    assert set(RULES) <= names


def test_the_page_on_trust_has_every_rule_with_its_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "trust.md").read_text(encoding="utf-8")
    rows = {line.split(" | ")[0].strip("|` "): line for line in page.splitlines() if line.startswith("| `")}
    assert [name for name, rule in RULES.items() if not rows.get(name, "").endswith(f" | {rule.reason} |")] == []


def test_a_new_setting_without_a_rule_would_be_left_out() -> None:
    assert not find_rule(("search", "something_new")).allows_any


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("search: {top_k: 3, weights: {dense: 2}}", ("search", "top_k"), 3),
        ("ingestion: {exclude: [data/]}", ("ingestion", "exclude"), ("data/",)),
        ("ingestion: {max_file_bytes: 5000}", ("ingestion", "max_file_bytes"), 5000),
        ("ingestion: {chunk: {max_tokens: 300}}", ("ingestion", "chunk", "max_tokens"), 300),
        ("search: {token_budget: 500}", ("search", "token_budget"), 500),
        ("storage: {cache_bytes: 0}", ("storage", "cache_bytes"), 0),
        ("privacy: {obfuscate_paths: true}", ("privacy", "obfuscate_paths"), True),
        ("summaries: {count_results: false}", ("summaries", "count_results"), False),
        ("chat: {memory: none}", ("chat", "memory"), "none"),
        ("service: {tools: single}", ("service", "tools"), "single"),
    ],
)
def test_what_restricts_holds(tmp_path, text, keys, value) -> None:
    settings = load(tmp_path, text)
    found = settings
    for key in keys:
        found = getattr(found, key)
    assert found == value
    assert settings.restricted == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("project: other", "project"),
        ("ingestion: {max_file_bytes: 50000000}", "ingestion.max_file_bytes"),
        ("ingestion: {workers: 64}", "ingestion.workers"),
        ("ingestion: {workers: 0}", "ingestion.workers"),
        ("ingestion: {transformations: ['evil:Step']}", "ingestion.transformations"),
        ("embedding: {provider: ollama}", "embedding.provider"),
        ("embedding: {base_url: 'http://evil.example'}", "embedding.base_url"),
        ("embedding: {api_key_file: /etc/passwd}", "embedding.api_key_file"),
        ("embedding: {tokenizer: /etc/passwd}", "embedding.tokenizer"),
        ("llm: {provider: openai}", "llm.provider"),
        ("llm: {temperature: 2}", "llm.temperature"),
        ("reranker: {provider: cross-encoder}", "reranker.provider"),
        ("reranker: {model: ../model}", "reranker.model"),
        ("summaries: {batch: 64}", "summaries.batch"),
        ("summaries: {commit_every: 1}", "summaries.commit_every"),
        ("chat: {memory: postgres}", "chat.memory"),
        ("chat: {url: 'postgresql://evil.example/x'}", "chat.url"),
        ("chat: {history_tokens: 90000}", "chat.history_tokens"),
        ("search: {token_budget: 1000000}", "search.token_budget"),
        ("search: {rewrite: queries}", "search.rewrite"),
        ("storage: {directory: /tmp/elsewhere}", "storage.directory"),
        ("storage: {directory: src}", "storage.directory"),
        ("storage: {cache_bytes: 9000000000}", "storage.cache_bytes"),
        ("graph: {store: neo4j}", "graph.store"),
        ("graph: {password: secret}", "graph.password"),
        ("privacy: {redact_secrets: false}", "privacy.redact_secrets"),
        ("privacy: {key: known}", "privacy.key"),
        ("telemetry: {traces: otlp}", "telemetry.traces"),
        ("telemetry: {queries: true}", "telemetry.queries"),
        ("service: {autostart: true}", "service.autostart"),
        ("service: {max_repositories: 900}", "service.max_repositories"),
        ("service: {watch: false}", "service.watch"),
    ],
)
@pytest.mark.parametrize("file", [".coderag.yaml", ".coderag.local.yaml"])
def test_what_does_more_is_left_out_and_told_with_its_line(tmp_path, text, name, file) -> None:
    settings = load(tmp_path, f"version: 1\n{text}", file)
    assert settings.model_dump() == Settings().model_dump()
    (told,) = settings.restricted
    assert told.startswith(f"{file}, line 2: {name}: ")


def test_nothing_is_taken_from_the_environment_of_the_user(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "s3cret")
    settings = load(tmp_path, "ingestion: {exclude: ['${SECRET_OF_MINE}']}\nsearch: {top_k: '${SECRET_OF_MINE}'}")
    assert "s3cret" not in repr(settings)
    assert settings.ingestion.exclude == ()
    assert [one.key for one in settings.restrictions] == ["ingestion.exclude", "search.top_k"]


def test_a_variable_that_is_not_set_stops_nothing(tmp_path) -> None:
    assert load(tmp_path, "llm: {api_key: '${NOT_SET}'}\nsearch: {top_k: 4}").search.top_k == 4


def test_what_a_default_says_anyway_is_not_worth_a_word(tmp_path) -> None:
    settings = load(tmp_path, "llm: {provider: none}\nprivacy: {redact_secrets: true}\nchat: {memory: sqlite}")
    assert settings.restricted == ()


def test_a_secret_is_not_shown(tmp_path) -> None:
    (one,) = load(tmp_path, "llm: {api_key: sk-very-secret}").restrictions
    assert "very-secret" not in f"{one} {one.value}"


def test_the_environment_and_arguments_of_the_user_hold_all_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CODERAG_LLM__PROVIDER", "ollama")
    (tmp_path / ".coderag.yaml").write_text("llm: {provider: openai, base_url: 'http://evil.example'}")
    settings = Settings.load(tmp_path, trusted=False, project="mine")
    assert (settings.llm.provider, settings.llm.base_url, settings.project) == ("ollama", "", "mine")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("serach: {top_k: 3}", "line 1: serach: no such key"),
        ("embedding: {modle: x}", "line 1: embedding.modle: no such key"),
        ("search: {top_k: many}", "line 1: search.top_k: "),
        ("privacy: {obfuscate_paths: perhaps}", "line 1: privacy.obfuscate_paths: "),
        ("search: [1]", "line 1: search: "),
        ("search: {top_k: [", "not valid YAML"),
    ],
)
def test_a_fault_is_told_as_in_a_trusted_repository(tmp_path, text, told) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
def test_a_settings_file_that_is_a_link_is_not_read(tmp_path) -> None:
    outside, root = tmp_path / "outside.yaml", tmp_path / "root"
    root.mkdir()
    outside.write_text("search: {top_k: 3}")
    (root / ".coderag.yaml").symlink_to(outside)
    settings = Settings.load(root, trusted=False)
    assert settings.search.top_k == 10
    assert "is a link" in settings.restricted[0]


def test_a_huge_settings_file_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigurationError, match="larger than settings may be"):
        load(tmp_path, "# " + "x" * 1_100_000)


def test_a_trusted_repository_says_everything(tmp_path) -> None:
    (tmp_path / ".coderag.yaml").write_text("llm: {provider: ollama}")
    settings = Settings.load(tmp_path)
    assert (settings.trusted, settings.restricted, settings.llm.provider) == (True, (), "ollama")


@pytest.mark.parametrize("trusted", [True, False])
def test_a_folder_that_may_not_be_searched_is_a_clear_error(tmp_path, monkeypatch, trusted) -> None:
    def forbidden(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_symlink", forbidden)
    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(ConfigurationError, match="cannot be read: permission denied"):
        Settings.load(tmp_path, trusted=trusted)
