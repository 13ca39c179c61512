"""Results of the doctor's checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """Result of a single check.

    Attributes:
        name: Group and subject, such as ``llm.server``.
        status: ``note`` is informational; ``skipped`` was not run.
        message: The finding, one line.
        hint: Suggested action; empty if none is needed.
        ms: Duration in milliseconds.
        error: Class name of the error, such as ``ModelUnavailableError``; empty if the check did not fail.
    """

    name: str
    status: Status
    message: str
    hint: str = ""
    ms: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All check results, in order."""

    checks: Sequence[Check]

    @property
    def first_failure(self) -> Check | None:
        """The first failed check; None if all passed."""
        return next((check for check in self.checks if check.status == "failed"), None)
