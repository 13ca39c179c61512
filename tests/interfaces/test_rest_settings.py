"""The settings in force, with their sources and without secrets."""

import pytest

from coderag.config.trust import revoke_trust, trust
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.corpora import write_files

SECRET = "s3cr3t-never-shown-4711"  # made up
COMMITTED = """\
search:
  top_k: 7
  max_per_file: 3
embedding:
  provider: openai
  model: text-embedding-3-small
  api_key: ${SHOP_KEY}
ingestion:
  exclude: ["*.sql", "${SHOP_FOLDER}/"]
"""


@pytest.fixture
def read_settings(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    monkeypatch.setenv("SHOP_FOLDER", SECRET)
    revoke_trust(tmp_path_factory.getbasetemp())
    root = tmp_path / "shop"
    write_files(root, {".coderag.yaml": COMMITTED, "a.py": "x = 1\n"})

    def read(is_trusted=True):
        if is_trusted:
            trust(root)
        with Workspace(WorkspaceOptions(watch=False)) as workspace:
            reply = RestClient(make_app(workspace), root).http.get(f"{API}/settings", params={"root": str(root)})
        assert reply.status_code == 200, reply.text
        assert SECRET not in reply.text
        overview = reply.json()
        by_key = {setting["key"]: setting for section in overview["sections"] for setting in section["settings"]}
        return overview, by_key

    read.root = root
    return read


def get_origin(setting):
    return setting["value"], setting["source"], setting["place"]


def test_each_value_has_its_source(read_settings, monkeypatch):
    local = read_settings.root / ".coderag.local.yaml"
    local.write_text("search:\n  max_per_file: 4\n")
    local.chmod(0o600)
    monkeypatch.setenv("CODERAG_SEARCH__TOKEN_BUDGET", "5000")
    monkeypatch.setenv("CODERAG_CHAT", '{"confirm_tokens": 900}')
    overview, settings = read_settings()
    assert get_origin(settings["search.top_k"]) == ("7", "committed file", ".coderag.yaml, line 2")
    assert get_origin(settings["search.max_per_file"]) == ("4", "local file", ".coderag.local.yaml, line 2")
    assert get_origin(settings["search.token_budget"]) == ("5000", "environment", "CODERAG_SEARCH__TOKEN_BUDGET")
    assert get_origin(settings["chat.confirm_tokens"]) == ("900", "environment", "CODERAG_CHAT")
    assert get_origin(settings["chat.memory"]) == ("sqlite", "default", "")
    assert get_origin(settings["search.expand_depth"]) == ("2", "default", "")
    assert settings["search.top_k"]["description"] == "Results returned by default."
    assert settings["search.top_k"]["default"] == "10"
    assert settings["search.top_k"]["choices"] == "integer, 1 to 200"
    assert (overview["trusted"], overview["trusted_by"], overview["ignored"]) == (True, str(read_settings.root), [])
    assert [file["exists"] for file in overview["files"]] == [True, True, False]


def test_variables_of_files_stand_as_they_are_written(read_settings):
    _, settings = read_settings()
    assert settings["embedding.api_key"]["value"] == "(set)"
    assert settings["embedding.api_key"]["is_secret"]
    assert settings["llm.api_key"]["value"] == ""
    assert settings["ingestion.exclude"]["value"] == "*.sql, ${SHOP_FOLDER}/"


@pytest.mark.parametrize(
    ("variable", "key", "value", "shown"),
    [
        ("CODERAG_LLM__API_KEY", "llm.api_key", SECRET, "(set)"),
        ("CODERAG_GRAPH__PASSWORD", "graph.password", SECRET, "(set)"),
        ("CODERAG_CHAT__URL", "chat.url", f"postgresql://me:{SECRET}@db/chats", "postgresql://me:****@db/chats"),
        (
            "CODERAG_LLM__BASE_URL",
            "llm.base_url",
            f"https://{SECRET}@models.example/v1",
            "https://****@models.example/v1",
        ),
        (
            "CODERAG_LLM__BASE_URL",
            "llm.base_url",
            f"https://models.example/v1?api_key={SECRET}&v=2",
            "https://models.example/v1?api_key=****&v=2",
        ),
    ],
)
def test_secrets_are_never_returned(read_settings, monkeypatch, variable, key, value, shown):
    monkeypatch.setenv(variable, value)
    _, settings = read_settings()
    assert (settings[key]["value"], settings[key]["source"]) == (shown, "environment")
    assert settings[key]["is_masked"] == ("*" in shown)


def test_known_tokens_are_masked_wherever_they_stand(read_settings, monkeypatch):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # made up
    monkeypatch.setenv("CODERAG_PROJECT", token)
    _, settings = read_settings()
    assert token not in settings["project"]["value"] and settings["project"]["is_masked"]


def test_untrusted_repository_lists_what_is_ignored(read_settings):
    overview, settings = read_settings(is_trusted=False)
    assert (overview["trusted"], overview["trusted_by"]) == (False, "")
    ignored = {item["key"]: item for item in overview["ignored"]}
    assert ignored["embedding.provider"]["value"] == "openai"
    assert ignored["embedding.provider"]["place"] == ".coderag.yaml, line 5"
    assert "decides which program or server" in ignored["embedding.provider"]["reason"]
    assert ignored["embedding.api_key"]["value"] == "${SHOP_KEY}"
    assert get_origin(settings["embedding.provider"]) == ("embedded", "default", "")
    assert get_origin(settings["search.top_k"]) == ("7", "committed file", ".coderag.yaml, line 2")
    assert settings["embedding.provider"]["rule"].startswith("not allowed: ")
    assert settings["search.token_budget"]["rule"].startswith("only up to the default: ")
    assert settings["search.rewrite"]["rule"].startswith("only none: ")


def test_ignored_address_shows_no_password(read_settings):
    (read_settings.root / ".coderag.yaml").write_text(f"chat:\n  url: postgresql://me:{SECRET}@db/chats\n")
    overview, _ = read_settings(is_trusted=False)
    assert overview["ignored"][0]["value"] == "postgresql://me:****@db/chats"


def test_invalid_settings_are_an_error_with_the_line(read_settings):
    (read_settings.root / ".coderag.yaml").write_text("search:\n  top_k: many\n")
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        rest = RestClient(make_app(workspace), read_settings.root)
        reply = rest.http.get(f"{API}/settings", params={"root": rest.root})
    assert reply.status_code == 409 and ".coderag.yaml, line 2: search.top_k" in reply.json()["detail"]
