"""All checks of a repository and its environment."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from coderag.engine.doctor.configuration import SETTINGS_PROBE, make_settings_probes
from coderag.engine.doctor.installation import make_installation_probes
from coderag.engine.doctor.probes import Finding, Probe, run_probes
from coderag.engine.doctor.report import Check, DoctorReport
from coderag.engine.doctor.setup import Setup
from coderag.errors import ConfigurationError

GROUPS: Final = (
    "installation",
    "settings",
    "repository",
    "index",
    "storage",
    "embedding",
    "llm",
    "reranker",
    "chat",
    "telemetry",
)
"""Groups that can be checked alone; the name of each check begins with its group."""

_CONFIGURED_GROUPS = ("storage", "embedding", "llm", "reranker", "chat", "telemetry")


class Examination:
    """The checks of a repository, not yet run.

    Nothing is downloaded or left behind. Configured servers receive fixed sample sentences, never repository text.

    Args:
        root: Folder of the repository.
        offline: Skip probes that connect to a server.
        only: Groups to check, from `GROUPS`; empty checks all.
        timeout_s: Upper limit in seconds for each request to a server. Default: the settings' timeout.
        trusted: Apply all settings of the repository; otherwise only those that restrict (docs/trust.md).
    """

    def __init__(
        self,
        root: Path,
        *,
        offline: bool = False,
        only: Sequence[str] = (),
        timeout_s: float | None = None,
        trusted: bool = True,
    ) -> None:
        self._offline = offline
        groups = only or GROUPS
        self._probes = [
            probe for probe in _make_probes(Setup(root, timeout_s, trusted=trusted)) if probe.group in groups
        ]

    @property
    def names(self) -> list[str]:
        """The names of the checks, in order."""
        return [probe.name for probe in self._probes]

    def run_checks(self) -> Iterator[Check]:
        """Run the checks and yield each as it completes."""
        return run_probes(self._probes, offline=self._offline)

    def report(self) -> DoctorReport:
        """Run all checks and return their report."""
        return DoctorReport(list(self.run_checks()))


def _make_probes(setup: Setup) -> Iterator[Probe]:
    from coderag.engine.doctor.repository import make_repository_probes  # noqa: PLC0415  # takes a while

    yield from make_installation_probes()
    yield from make_settings_probes(setup)
    yield from make_repository_probes(setup)
    try:
        configured = _make_configured_probes(setup)
    except ConfigurationError as error:  # reported by `settings.files`, too, unless only these groups run
        configured = [
            Probe(group, partial(_raise_error, error), needs=[SETTINGS_PROBE]) for group in _CONFIGURED_GROUPS
        ]
    yield from configured


def _make_configured_probes(setup: Setup) -> list[Probe]:
    from coderag.engine.doctor.models import make_model_probes  # noqa: PLC0415  # takes a while
    from coderag.engine.doctor.repository import make_service_probes  # noqa: PLC0415  # as above

    return [*make_model_probes(setup), *make_service_probes(setup)]


def _raise_error(error: ConfigurationError) -> Finding:
    raise error
