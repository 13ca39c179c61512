from pathlib import Path
from typing import Any

import pytest

from coderag.config.setting_texts import format_value
from coderag.config.settings import Settings
from coderag.config.source_sections import ConfluenceSection
from coderag.errors import ConfigurationError, SourceAuthenticationError
from coderag.sources.credentials import read_credential

WIKI = "sources:\n  wiki:\n    system: confluence\n    spaces: [DOCS]\n"


def write(root: Path, text: str, name: str = ".coderag.yaml") -> None:
    path = root / name
    path.write_text(text)
    path.chmod(0o600)


def load(root: Path, **options: Any) -> Settings:
    return Settings.load(root, **options)


def test_token_comes_from_the_environment_and_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_TOKEN", "s3cret-value")
    write(tmp_path, WIKI + "    address: https://acme.atlassian.net/wiki/\n    token: ${WIKI_TOKEN}\n")

    settings = load(tmp_path)
    section = settings.sources["wiki"]
    assert isinstance(section, ConfluenceSection)
    assert section.token.get_secret_value() == "s3cret-value"
    assert section.address == "https://acme.atlassian.net/wiki"
    assert "s3cret-value" not in f"{settings!r} {format_value(settings.sources)}"


def test_missing_variable_of_a_token_concerns_only_the_synchronisation(tmp_path: Path) -> None:
    write(tmp_path, WIKI + "    address: https://acme.atlassian.net\n    token: ${NONE_SUCH}\n")

    section = load(tmp_path).sources["wiki"]
    assert isinstance(section, ConfluenceSection)
    with pytest.raises(SourceAuthenticationError, match=r"variable NONE_SUCH of sources.wiki.token is not set"):
        read_credential("wiki", section)


def test_token_written_into_the_committed_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, WIKI + "    address: https://acme.atlassian.net\n    token: s3cret-value\n")

    with pytest.raises(ConfigurationError, match=r"line 6: sources.wiki.token: secrets do not belong") as caught:
        load(tmp_path)
    assert "sources.wiki.credential_file" in caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"


def test_token_in_the_local_file_is_used(tmp_path: Path) -> None:
    write(tmp_path, WIKI + "    address: https://acme.atlassian.net\n")
    write(tmp_path, "sources:\n  wiki:\n    token: abc\n", ".coderag.local.yaml")

    section = load(tmp_path).sources["wiki"]
    assert isinstance(section, ConfluenceSection)
    assert section.token.get_secret_value() == "abc"


@pytest.mark.parametrize(
    "address", ["https://evil.example", "http://acme.atlassian.net", "https://atlassian.net.evil.example"]
)
def test_credential_is_not_sent_to_a_host_that_only_the_committed_file_names(tmp_path: Path, address: str) -> None:
    write(tmp_path, WIKI + f"    address: {address}\n    token: ${{HOME}}\n")

    with pytest.raises(ConfigurationError, match=r"sources.wiki.address: credentials are not sent") as caught:
        load(tmp_path)
    assert ".coderag.local.yaml" in caught.value.hint

    write(tmp_path, f"sources:\n  wiki:\n    address: {address}\n", ".coderag.local.yaml")
    assert load(tmp_path).sources


def test_untrusted_repository_has_no_sources(tmp_path: Path) -> None:
    write(tmp_path, WIKI + "    address: https://acme.atlassian.net\n    token: ${HOME}\n")

    settings = load(tmp_path, trusted=False)
    assert settings.sources == {}
    (restriction,) = settings.restrictions
    assert (restriction.key, restriction.value) == ("sources", "wiki")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{system: confluense}", "confluense", ""),
        ("{}", "line 2: sources.wiki: the key 'system' is required", ""),
        ("{system: confluence, address: 'https://a.atlassian.net'}", "set either spaces or cql", ""),
        ("{system: jira, projects: [A]}", "sources.wiki.address: this key is required", ""),
        (
            "{system: jira, projects: [A], address: 'ftp://a'}",
            "sources.wiki.address: .*not the address of a server",
            "",
        ),
        ("{system: jira, projects: [A], address: 'https://u:p@a'}", "may not hold a user name", ""),
        ("{system: files, path: docs, incude: [a]}", "sources.wiki.incude: no such key", "sources.wiki.include"),
        ("{system: files, path: docs, git: x}", "set either path or git", ""),
        ("{system: files, git: --upload-pack=x}", "may not begin with", ""),
        ("{system: reader, reader: 'os.system'}", "sources.wiki.reader", ""),
    ],
)
def test_invalid_source_is_an_error_with_its_key(tmp_path: Path, text: str, message: str, hint: str) -> None:
    write(tmp_path, f"sources:\n  wiki: {text}\n")

    with pytest.raises(ConfigurationError, match=message) as caught:
        load(tmp_path)
    assert hint in caught.value.hint
    assert "u:p" not in str(caught.value)


def test_invalid_name_of_a_source_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "sources:\n  Wiki/../x: {system: files, path: docs}\n")

    with pytest.raises(ConfigurationError, match="not a name of a source"):
        load(tmp_path)
