"""The two lock files agree with each other and with pyproject.toml, and name nothing that must not be in them."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
GPU = re.compile(r"torch|nvidia|cuda|triton|tensorflow|onnxruntime-gpu")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lock() -> dict[str, Any]:
    return tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    """What requirements.lock gives to pip: name to version."""
    requirements = map(Requirement, (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines())
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in requirements}


def locked(lock: dict[str, Any]) -> dict[str, str]:
    return {package["name"]: package["version"] for package in lock["package"]}


def of_project(lock: dict[str, Any]) -> dict[str, Any]:
    return next(package for package in lock["package"] if package["name"] == "coderag-engine")


def test_one_version_of_each_package_serves_every_python(lock: dict[str, Any]) -> None:
    assert len(locked(lock)) == len(lock["package"])


def test_pip_installs_the_versions_of_uv(lock: dict[str, Any], pins: dict[str, str]) -> None:
    assert {name: locked(lock)[name] for name in pins} == pins


def reached(lock: dict[str, Any], wanted: list[dict[str, Any]]) -> set[str]:
    """Return the names of some dependencies with all that they bring."""
    packages = {package["name"]: package for package in lock["package"]}
    seen: set[str] = set()
    wanted = list(wanted)
    while wanted:
        dependency = wanted.pop()
        name, extras = dependency["name"], dependency.get("extra", [])
        if name not in seen or extras:
            seen.add(name)
            wanted += packages[name].get("dependencies", [])
            wanted += [each for extra in extras for each in packages[name]["optional-dependencies"][extra]]
    return seen


def test_pip_installs_all_that_uv_does(lock: dict[str, Any], pins: dict[str, str]) -> None:
    start = of_project(lock)
    assert reached(lock, [*start["dependencies"], *start["dev-dependencies"]["dev"]]) == set(pins)


def test_lock_is_of_this_pyproject(project: dict[str, Any], lock: dict[str, Any]) -> None:
    metadata = of_project(lock)["metadata"]
    declared = [Requirement(each) for each in project["project"]["dependencies"]]
    resolved = {each["name"]: each.get("specifier", "") for each in metadata["requires-dist"] if "marker" not in each}
    assert {canonicalize_name(each.name): each.specifier for each in declared} == {
        name: Requirement(f"{name}{specifier}").specifier for name, specifier in resolved.items()
    }
    assert {canonicalize_name(Requirement(each).name) for each in project["dependency-groups"]["dev"]} == {
        each["name"] for each in metadata["requires-dev"]["dev"]
    }


def test_only_extras_that_run_a_transformer_bring_gpu_packages(lock: dict[str, Any], pins: dict[str, str]) -> None:
    extras = of_project(lock)["optional-dependencies"]
    with_gpu = {extra for extra, wanted in extras.items() if any(map(GPU.search, reached(lock, wanted)))}
    assert with_gpu == {"embedding-training", "sentence-transformers"}
    assert [name for name in pins if GPU.search(name)] == []


def test_only_the_public_index_is_named() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8") + (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert set(re.findall(r"\w+://([^/\"\s]+)", text)) == {"pypi.org", "files.pythonhosted.org"}
    assert "file:" not in text


def test_grammars_are_not_downloaded_at_run_time(pins: dict[str, str]) -> None:
    assert pins["tree-sitter-language-pack"].startswith("0.")
