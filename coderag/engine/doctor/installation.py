"""Is CodeRAG installed as it is meant to be? Python, packages, grammars."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version

from coderag.engine.doctor.probes import Finding, Probe
from coderag.errors import ConfigurationError

DISTRIBUTION = "coderag-engine"

_SHOWN = ("langgraph", "llama-index-core", "lancedb", "tree-sitter-language-pack")
_ADVICE = f"Install {DISTRIBUTION} anew, in an environment of its own."
_EXTRA = re.compile(r"""\bextra\s*==""")


def installation_probes() -> Iterator[Probe]:
    """Yield what is checked of the installation."""
    yield Probe("installation.python", _python)
    yield Probe("installation.packages", _packages)
    yield Probe("installation.grammars", _grammars)


def _python() -> Finding:
    return Finding(
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"
    )


def _packages() -> Finding:
    try:
        own = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        message = f"{DISTRIBUTION} runs from a folder and is not installed, so its packages cannot be checked"
        return Finding(message, status="note")
    if wrong := list(_wrong_packages(own)):
        raise ConfigurationError("; ".join(wrong), hint=_ADVICE)
    return Finding(", ".join([f"{DISTRIBUTION} {own.version}", *(f"{name} {version(name)}" for name in _SHOWN)]))


def _wrong_packages(own: Distribution) -> Iterator[str]:
    """Yield what is wrong with the packages that are required without any extra."""
    from packaging.requirements import Requirement  # noqa: PLC0415  # only this check needs it

    for line in own.requires or ():
        if _EXTRA.search(line):
            continue
        required = Requirement(line)
        if required.marker is not None and not required.marker.evaluate():
            continue
        try:
            found = version(required.name)
        except PackageNotFoundError:
            yield f"{required.name} is not installed"
            continue
        if not required.specifier.contains(found, prereleases=True):
            yield f"{required.name} is {found}, and {required.specifier} is needed"


def _grammars() -> Finding:
    from coderag.ingestion.parsing.languages import LANGUAGES  # noqa: PLC0415  # takes a while
    from coderag.ingestion.parsing.trees import grammar  # noqa: PLC0415  # as above

    names = sorted({language.grammar for language in LANGUAGES.values() if language.grammar})
    broken = []
    for name in names:
        try:
            grammar(name)
        except (LookupError, ImportError, OSError, ValueError, TypeError) as error:
            broken.append(f"{name} ({type(error).__name__})")
    if broken:
        raise ConfigurationError(f"grammars that do not load: {', '.join(broken)}", hint=_ADVICE)
    return Finding(f"{len(names)} grammars load")
