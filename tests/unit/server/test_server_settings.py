"""Settings of the server: sources, order, and errors that name what is wrong."""

import pytest

from coderag.errors import ConfigurationError
from coderag.server.settings import ServerSettings


def write(tmp_path, text):
    path = tmp_path / "server.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_arguments_precede_the_environment_and_that_precedes_the_file(tmp_path, monkeypatch):
    path = write(tmp_path, "port: 1\nhost: 10.0.0.1\noidc: {client_id: file}\n")
    monkeypatch.setenv("CODERAG_SERVER_PORT", "2")
    monkeypatch.setenv("CODERAG_SERVER_OIDC__CLIENT_ID", "environment")
    settings = ServerSettings.load(path, port=3)
    assert (settings.port, settings.host, settings.oidc.client_id) == (3, "10.0.0.1", "environment")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("prot: 1", "prot: no such setting", "Did you mean port?"),
        ("oidc: {isuer: x}", "oidc.isuer: no such setting", "Did you mean oidc.issuer?"),
        ("port: many", "port: Input should be a valid integer", "Check server.yaml"),
        ("- a", "is not a mapping", "Write"),
        ("a: [", "cannot be read", "Check the file"),
    ],
)
def test_wrong_file_is_an_error_that_names_the_place(tmp_path, text, message, hint):
    with pytest.raises(ConfigurationError) as raised:
        ServerSettings.load(write(tmp_path, text))
    assert message in str(raised.value)
    assert hint in raised.value.hint


def test_misspelt_variable_is_an_error_with_the_nearest_one(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_SERVER_LIMITS__REQUEST_PER_MINUTE", "5")
    with pytest.raises(ConfigurationError, match="CODERAG_SERVER_LIMITS__REQUEST_PER_MINUTE is no setting") as raised:
        ServerSettings.load(write(tmp_path, ""))
    assert "CODERAG_SERVER_LIMITS__REQUESTS_PER_MINUTE" in raised.value.hint


def test_secret_stays_out_of_errors_and_representations(tmp_path):
    settings = ServerSettings.load(write(tmp_path, "database_url: postgresql://u:hunter2@h/d\n"))
    assert "hunter2" not in repr(settings)
    with pytest.raises(ConfigurationError) as raised:
        ServerSettings.load(write(tmp_path, "oidc: {client_secret: [hunter2]}\n"))
    assert "hunter2" not in str(raised.value)
