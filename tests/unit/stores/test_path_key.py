import os
import re

import pytest
from pydantic import SecretStr

from coderag.config.sections import PrivacySettings
from coderag.errors import ConfigurationError
from coderag.stores.path_key import KEY_FILE, load_path_mask

ON = PrivacySettings(obfuscate_paths=True)
posix = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


def given(key):
    return PrivacySettings(obfuscate_paths=True, key=SecretStr(key))


def test_masking_off_creates_no_key(tmp_path):
    assert load_path_mask(PrivacySettings(), tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_key_is_created_once_and_reused(tmp_path):
    first, second = load_path_mask(ON, tmp_path / "index"), load_path_mask(ON, tmp_path / "index")
    assert first.mask_path("src/a.py") == second.mask_path("src/a.py")
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == [".gitignore", KEY_FILE]
    assert (tmp_path / "index" / ".gitignore").read_text() == "*\n"


def test_each_index_has_its_own_key(tmp_path):
    assert load_path_mask(ON, tmp_path / "one").mask_path("a") != load_path_mask(ON, tmp_path / "two").mask_path("a")


@posix
def test_key_file_is_readable_by_its_owner_only(tmp_path):
    load_path_mask(ON, tmp_path)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_key_readable_by_others_is_rejected(tmp_path, mode):
    load_path_mask(ON, tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(ConfigurationError, match="by others") as caught:
        load_path_mask(ON, tmp_path)
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"abc\n", b"\xff" * 64, b"0" * 63, b"0" * 65, b"0" * 64 + b"\n1"])
def test_damaged_key_is_rejected_without_echoing_it(tmp_path, content):
    (tmp_path / KEY_FILE).write_bytes(content)
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(ConfigurationError, match="damaged") as caught:
        load_path_mask(ON, tmp_path)
    assert "delete it" in caught.value.hint
    assert "0000" not in str(caught.value)


def test_configured_key_needs_no_file(tmp_path):
    mask = load_path_mask(given("correct horse battery staple"), tmp_path)
    assert mask.mask_path("a") == load_path_mask(
        given("correct horse battery staple\n"), tmp_path / "elsewhere"
    ).mask_path("a")
    assert mask.mask_path("a") != load_path_mask(given("correct horse battery stable"), tmp_path).mask_path("a")
    assert not list(tmp_path.iterdir())


def test_key_of_a_file_can_move_into_the_settings(tmp_path):
    of_file = load_path_mask(ON, tmp_path)
    key = (tmp_path / KEY_FILE).read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", key)
    assert load_path_mask(given(key), tmp_path / "elsewhere").mask_path("a") == of_file.mask_path("a")


def test_guessable_key_is_rejected_without_echoing_it(tmp_path):
    with pytest.raises(ConfigurationError, match="shorter than 16 characters") as caught:
        load_path_mask(given("sesame"), tmp_path)
    assert "sesame" not in str(caught.value) + caught.value.hint
