"""Where the user's own files are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coderag.config.user_folders import find_cache_base, find_cache_folder, find_config_folder, find_data_folder
from coderag.errors import ConfigurationError


@pytest.mark.parametrize("folder", [find_config_folder, find_data_folder, find_cache_folder, find_cache_base])
def test_a_user_without_a_home_is_told_so_and_a_repository_is_not_taken_for_one(
    folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user whom the system does not know
    if os.name == "nt":
        pytest.skip("Windows knows the folders of each user by itself")
    with pytest.raises(ConfigurationError, match="no home folder"):
        folder()
