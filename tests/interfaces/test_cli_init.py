"""The settings file that explains itself."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from coderag.interfaces.cli import init as module
from coderag.interfaces.cli.init import settings_template
from coderag.settings import Settings


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


def test_the_file_as_written_means_the_defaults(coderag, tmp_path: Path) -> None:
    assert coderag("init").exit_code == 0
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()


def test_it_has_every_key_with_its_default(tmp_path: Path) -> None:
    text = uncommented(settings_template())
    assert set(flattened(yaml.safe_load(text))) == keys_of(Settings)
    (tmp_path / ".coderag.yaml").write_text(text, encoding="utf-8")
    assert Settings.load(tmp_path).model_dump() == Settings().model_dump()


def test_it_has_every_description() -> None:
    text = settings_template()

    def check(model: type[BaseModel]) -> None:
        for field in model.model_fields.values():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(field.annotation)
            else:
                assert field.description
                assert field.description in text

    check(Settings)


def test_it_says_what_values_are_allowed() -> None:
    text = settings_template()
    assert "One of: scores, rrf.\n  # fusion: scores\n" in text
    assert "1 to 200.\n  # top_k: 10\n" in text
    assert "At least 1,024.\n  # context_window: " in text
    assert "More than 0.\n  # timeout_s:" in text


def test_lines_are_not_too_long_to_read() -> None:
    assert max(map(len, settings_template().splitlines())) <= 140


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
    assert json.loads(result.stdout) == {"path": (tmp_path / ".coderag.yaml").as_posix(), "overwritten": True}
    assert (tmp_path / ".coderag.yaml").read_text(encoding="utf-8") == settings_template()


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
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no such folder" in result.stderr


def test_the_home_folder_is_refused(coderag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert coderag("init").exit_code == 3
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_a_clear_error(coderag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTINGS_FILE", "no/such/folder.yaml")
    result = coderag("init")
    assert result.exit_code == 3
    assert "cannot be written: No such file or directory" in result.stderr
