"""Properties of backups: no changed byte goes unnoticed, and a sealed key opens with its passphrase only."""

from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.errors import ConfigurationError, ServerError
from coderag.server.backup import create_backup, verify_backup
from coderag.server.backup_archive import extract_archive
from coderag.server.key_backup import MIN_PASSPHRASE_CHARS, open_key, seal_key
from tests.support.servers import create_server


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backup")
    create_backup(create_server(folder / "data"), folder / "a.tar.gz", passphrase="correct horse battery")
    return folder / "a.tar.gz"


@pytest.fixture(scope="module")
def members(archive, tmp_path_factory):
    return extract(archive, tmp_path_factory.mktemp("members"))


def extract(archive, folder):
    extract_archive(archive, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@given(data=st.data())
def test_changed_byte_is_noticed_or_changes_nothing(archive, members, tmp_path_factory, data):
    """A few bytes of gzip's header, such as its time, mean nothing."""
    content = bytearray(archive.read_bytes())
    # Half of the examples near the start, where the headers are.
    last = data.draw(st.sampled_from([40, len(content) - 1]))
    position = data.draw(st.integers(0, last))
    content[position] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("changed")
    changed = folder / "a.tar.gz"
    changed.write_bytes(content)
    (folder / "members").mkdir()
    try:
        extracted = extract(changed, folder / "members")
    except ServerError:
        return
    assert extracted == members


@given(data=st.data())
def test_file_that_is_cut_is_noticed(archive, tmp_path_factory, data):
    content = archive.read_bytes()
    cut = tmp_path_factory.mktemp("cut") / "a.tar.gz"
    cut.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ServerError):
        verify_backup(cut)


@settings(max_examples=5)
@given(
    content=st.binary(max_size=100),
    passphrase=st.text(min_size=MIN_PASSPHRASE_CHARS, max_size=40),
    other=st.text(max_size=40),
)
def test_sealed_key_opens_with_its_passphrase_only(content, passphrase, other):
    sealed = seal_key(content, passphrase)
    assert open_key(sealed, passphrase) == content
    if normalize("NFC", other) != normalize("NFC", passphrase):
        with pytest.raises(ConfigurationError, match="does not open"):
            open_key(sealed, other)


@pytest.mark.parametrize(
    "sealed", [b"", b"{}", b"[]", b"null", b'{"kdf": "none", "cost": 2}', b'{"cost": 99999999999}']
)
def test_damaged_sealed_key_is_reported(sealed):
    with pytest.raises(ConfigurationError, match="is damaged"):
        open_key(sealed, "correct horse battery")
