"""Every folder of Python that the wheel installs is under the type checker and the import contracts."""

import configparser
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [name for name in ("coderag", "graphs", "evals") if (ROOT / name).is_dir()]


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_checked(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    assert package in project["tool"]["mypy"]["packages"]
    assert package in contracts["importlinter"]["root_packages"].split()


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_a_regular_one(package: str) -> None:
    """Without `__init__.py` mypy sees each file twice."""
    folders = [ROOT / package, *(path for path in (ROOT / package).rglob("*") if any(path.glob("*.py")))]
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []
