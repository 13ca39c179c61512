"""What was checked, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: Group and thing, such as ``llm.server``.
        status: ``note`` is worth knowing and stops nothing; ``skipped`` was not tried.
        message: What was found, one line.
        hint: What the reader can do about it; empty if there is nothing to do.
        ms: Milliseconds that it took.
        error: Class of the error that it failed with, such as ``ModelUnavailableError``; empty if it did not fail.
    """

    name: str
    status: Status
    message: str
    hint: str = ""
    ms: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All that was checked, in order."""

    checks: Sequence[Check]

    @property
    def first_failure(self) -> Check | None:
        """The first check that failed; None if all is well."""
        return next((check for check in self.checks if check.status == "failed"), None)
