"""The wheel holds what the tree holds, and works where the checkout is not.

The package list of pyproject.toml is explicit and forgets a new subpackage silently, while the editable install still
sees it; so the wheel is compared with the tree, file by file.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPPED = ("graphs", "prompts", "evals")
SOURCES = {"coderag": "coderag"} | {name: f"coderag/{name}" for name in MAPPED if (ROOT / name).is_dir()}
"""Folder of the checkout and where the wheel puts it."""

_UNSHIPPED_NAMES = (
    "agents", "efficiency", "figures", "graph", "history", "items", "reports", "server_load", "service", "structural",
    "synchronization", "test_selection",
)  # fmt: skip
NOT_SHIPPED = tuple(ROOT / "evals" / name for name in _UNSHIPPED_NAMES)
"""Evaluations and figures of the project itself, which run from a checkout only."""

NOT_DATA = {".pyc", ".pyo", ".orig", ".rej"}
FULL_INSTALL = "WHEEL_TEST_FULL_INSTALL"
"""Set, the clean environment takes every dependency from the package index, as a user's does; that takes minutes."""

CODE = '''
"""Accounts and their passwords."""

import hashlib


def hash_password(password: str, salt: bytes) -> bytes:
    """Derive the stored hash of a password with PBKDF2."""
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 600_000)


class Session:
    """A logged-in user."""

    def logout(self) -> None:
        """End the session."""
'''


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, because setuptools writes into the tree; without pip, which uv does not install."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    output = tmp_path_factory.mktemp("wheel")
    build = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(output)], cwd=tree, check=True, capture_output=True)
    (built,) = output.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts' folder of a clean environment that holds the wheel.

    Its dependencies are those of the test run, found through a `.pth` file. Such a file adds its one folder and no
    more: the `.pth` files in there, the editable CodeRAG's among them, are not read.
    """
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True, clear=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    install = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    if os.environ.get(FULL_INSTALL):
        subprocess.run([*install, "--constraint", str(ROOT / "requirements.lock")], check=True)
        return scripts
    subprocess.run([*install, "--no-deps", "--no-index"], check=True)
    site_packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    paths = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    Path(site_packages, "dependencies.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return scripts


def test_wheel_holds_every_file_of_the_tree(members: set[str]) -> None:
    expected = {
        f"{target}/{path.relative_to(ROOT / source).as_posix()}"
        for source, target in SOURCES.items()
        for path in (ROOT / source).rglob("*")
        if path.is_file()
        and path.suffix not in NOT_DATA
        and path.parent.name != "__pycache__"
        and not any(path.is_relative_to(folder) for folder in NOT_SHIPPED)
    }
    assert expected
    assert sorted(expected - members) == []
    assert sorted(name for name in members - expected if ".dist-info/" not in name) == []


def test_wheel_installs_nothing_but_coderag(members: set[str]) -> None:
    assert {name.split("/")[0].split("-")[0] for name in members} == {"coderag", "coderag_engine"}


def test_wheel_is_small_enough_for_a_package_index(wheel: Path) -> None:
    assert wheel.stat().st_size < 25_000_000


def test_metadata_names_the_distribution_and_no_gpu_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"Name: coderag-engine\nVersion: {version}\n" in metadata
    assert "License-Expression: MIT" in metadata
    requirements = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert requirements
    installed = [line for line in requirements if "embedding-training" not in line]  # the extra that makes the model
    assert not any("torch" in line or "nvidia" in line for line in installed)


@pytest.mark.slow
def test_installed_wheel_answers_a_query_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "accounts.py").write_text(CODE, encoding="utf-8")
    (repository / "README.md").write_text("# Shop\n\nA shop with accounts.\n", encoding="utf-8")

    def run(*command: str) -> str:
        full = [str(installed / command[0]), *command[1:]]
        finished = subprocess.run(full, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    where = run("python", "-c", "import coderag.graphs.query as graph; print(graph.__file__)").strip()
    assert Path(where).is_relative_to(installed.parent)
    run("coderag", "index", "-C", str(repository))
    found = run("coderag", "search", "-C", str(repository), "--json", "how are passwords hashed")
    assert "hash_password" in json.dumps(json.loads(found))
    assert "accounts.py" in found
