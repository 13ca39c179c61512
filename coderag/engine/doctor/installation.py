"""Checks of the installation: Python, packages, grammars."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version

from coderag.engine.doctor.probes import Finding, Probe
from coderag.errors import ConfigurationError

DISTRIBUTION = "coderag-engine"

_REPORTED_PACKAGES = ("langgraph", "llama-index-core", "lancedb", "tree-sitter-language-pack")
_REINSTALL_HINT = f"Install {DISTRIBUTION} again, in its own environment."
_EXTRA_MARKER = re.compile(r"""\bextra\s*==""")


def make_installation_probes() -> Iterator[Probe]:
    """Yield the probes of the installation."""
    yield Probe("installation.python", _report_python)
    yield Probe("installation.packages", _check_packages)
    yield Probe("installation.grammars", _check_grammars)


def _report_python() -> Finding:
    return Finding(
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"
    )


def _check_packages() -> Finding:
    try:
        package = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        message = f"{DISTRIBUTION} runs from a source folder, so its packages are not checked"
        return Finding(message, status="note")
    if faults := list(_find_package_faults(package)):
        raise ConfigurationError("; ".join(faults), hint=_REINSTALL_HINT)
    return Finding(
        ", ".join([f"{DISTRIBUTION} {package.version}", *(f"{name} {version(name)}" for name in _REPORTED_PACKAGES)])
    )


def _find_package_faults(package: Distribution) -> Iterator[str]:
    """Yield missing and incompatible packages among the mandatory requirements."""
    from packaging.requirements import Requirement  # noqa: PLC0415  # only this check needs it

    for line in package.requires or ():
        if _EXTRA_MARKER.search(line):
            continue
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield f"{requirement.name} is not installed"
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            yield f"{requirement.name} is {installed}, and {requirement.specifier} is needed"


def _check_grammars() -> Finding:
    from coderag.ingestion.parsing.languages import LANGUAGES  # noqa: PLC0415  # takes a while
    from coderag.ingestion.parsing.trees import load_grammar  # noqa: PLC0415  # as above

    names = sorted({language.grammar for language in LANGUAGES.values() if language.grammar})
    broken = []
    for name in names:
        try:
            load_grammar(name)
        except (LookupError, ImportError, OSError, ValueError, TypeError) as error:
            broken.append(f"{name} ({type(error).__name__})")
    if broken:
        raise ConfigurationError(f"grammars that do not load: {', '.join(broken)}", hint=_REINSTALL_HINT)
    return Finding(f"{len(names)} grammars load")
