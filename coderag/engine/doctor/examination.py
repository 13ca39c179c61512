"""All checks of a repository and of what CodeRAG needs for it."""

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
    "embedding",
    "llm",
    "reranker",
    "chat",
    "telemetry",
)
"""What can be checked alone; each check's name begins with one."""

_CONFIGURED_GROUPS = ("embedding", "llm", "reranker", "chat", "telemetry")


class Examination:
    """The checks of one repository, not run yet.

    Nothing is downloaded and nothing is left behind. Servers that the settings name are sent sentences of CodeRAG's own,
    nothing of the repository.

    Args:
        root: Folder of the repository.
        offline: Whether to leave out what would connect to a server.
        only: Of `GROUPS`, those to check; none is all.
        timeout_s: Seconds for each request to a server, at most; by default what the settings say.
        trusted: Whether the files of the repository may say everything; else only what restricts (docs/trust.md).
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
        """Run the checks; yield each as soon as it is done."""
        return run_probes(self._probes, offline=self._offline)

    def report(self) -> DoctorReport:
        """Run the checks and return what came of all of them."""
        return DoctorReport(list(self.run_checks()))


def _make_probes(setup: Setup) -> Iterator[Probe]:
    from coderag.engine.doctor.repository import make_repository_probes  # noqa: PLC0415  # takes a while

    yield from make_installation_probes()
    yield from make_settings_probes(setup)
    yield from make_repository_probes(setup)
    try:
        configured = _make_configured_probes(setup)
    except ConfigurationError as error:  # `settings.files` tells it, too; asked for alone, these do
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
