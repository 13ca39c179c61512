import os

import pytest
from pydantic import SecretStr

from coderag.config.sections import EmbeddingSettings
from coderag.config.server_addresses import is_same_server
from coderag.errors import ConfigurationError
from coderag.models.keys import read_key
from coderag.models.providers import make_dense_model

KEY = "sk-secret-of-this-test"
OWN = "https://api.example/v1"


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "the key"
    path.write_text(f"{KEY}\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def key_of(key="", file="", address=OWN):
    return read_key("llm", SecretStr(key), str(file), address, OWN, "FIRST_KEY", "SECOND_KEY")


def refused(**given):
    with pytest.raises(ConfigurationError) as caught:
        key_of(**given)
    assert KEY not in f"{caught.value}{caught.value.hint}{caught.value.__cause__}"
    return caught.value


def test_key_precedence_is_setting_file_environment(key_file, monkeypatch):
    monkeypatch.setenv("SECOND_KEY", "of the environment")
    assert key_of(key=" of the settings\n", file=key_file) == "of the settings"
    assert key_of(file=key_file) == KEY
    assert key_of() == "of the environment"
    monkeypatch.setenv("FIRST_KEY", " the first ")
    assert key_of() == "the first"


def test_missing_key_is_empty(monkeypatch):
    monkeypatch.setenv("FIRST_KEY", " ")
    assert key_of() == ""


@pytest.mark.parametrize(
    "address",
    ["http://api.example/v1", "https://api.example:8443/v1", "https://api.example.evil/v1", "https://evil/api.example"],
)
def test_environment_key_is_only_for_the_providers_server(monkeypatch, address):
    monkeypatch.setenv("FIRST_KEY", KEY)
    assert key_of(address=address) == ""
    assert key_of(address="https://API.example:443/v2/") == KEY


def test_server_is_identified_by_scheme_host_and_port():
    assert is_same_server("http://h", "http://h:80/path")
    assert not is_same_server("http://h", "https://h")


@pytest.mark.skipif(os.name != "posix", reason="a file's mode does not say who reads it")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_key_file_readable_by_others_is_rejected(key_file, mode):
    key_file.chmod(mode)
    error = refused(file=key_file)
    assert str(error) == f"llm.api_key_file is {key_file}, which other users can read"
    assert error.hint == f"Run `chmod 600 {key_file}`."


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (f"{KEY}\n{KEY}\n".encode(), "holds more than a key"),
        (b"x" * 20_000, "holds more than a key"),
        (b"sk-\x00\x01\x02", "characters that are not allowed in a key"),
        (b"\xff\xfe\x00s", "characters that are not allowed in a key"),
        ("ключ".encode(), "characters that are not allowed in a key"),
    ],
)
def test_file_without_a_key_is_rejected(key_file, content, what):
    key_file.write_bytes(content)
    error = refused(file=key_file)
    assert what in str(error)
    assert str(key_file) in str(error)


def test_byte_order_mark_is_stripped_from_a_key(key_file):
    key_file.write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\r\n")
    assert key_of(file=key_file) == KEY


def test_missing_key_file_is_reported(tmp_path):
    assert "which is not a file" in str(refused(file=tmp_path / "none"))
    assert "which is not a file" in str(refused(file=tmp_path))
    assert "not an absolute path" in str(refused(file="keys/mine"))


def test_key_file_in_the_home_folder_is_read(home):
    path = home / ".key"
    path.write_text(KEY, encoding="utf-8")
    path.chmod(0o600)
    assert key_of(file="~/.key") == KEY


@pytest.mark.parametrize("key", [f"{KEY}\nX-Evil: 1", "ключ"])
def test_key_with_invalid_header_characters_is_rejected(monkeypatch, key):
    assert "llm.api_key has characters" in str(refused(key=key))
    monkeypatch.setenv("FIRST_KEY", key)
    assert "FIRST_KEY or SECOND_KEY has characters" in str(refused())


def test_embedding_models_read_a_key_file(case, key_file):
    case.model(api_key_file=str(key_file)).embed_query("login", [])
    assert case.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_embedding_models_use_the_environment_key_at_the_providers_address(monkeypatch):
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    assert make_dense_model(EmbeddingSettings(provider="voyage"))._model._remote.secret == KEY
