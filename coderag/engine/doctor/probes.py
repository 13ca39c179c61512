"""Sequential probes with a timeout each; a failure does not stop the next probe."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Thread

from coderag.engine.doctor.report import Check, Status
from coderag.errors import CodeRAGError

LOCAL_TIMEOUT_S = 60.0
INTERNAL_ERROR = "InternalError"

_TIMEOUT_HINT = "Try again: the first request loads the model."


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a probe that raised no error."""

    message: str
    hint: str = ""
    status: Status = "ok"


@dataclass(frozen=True, slots=True)
class Probe:
    """A single check, not yet run.

    Attributes:
        examine: Returns the finding; an error is a failed check.
        connects: Whether it connects to a server.
        needs: Prerequisite probes; if one of them failed or was skipped, this one is skipped.
        timeout_s: Time limit in seconds.
        timeout_error: Error class reported at the time limit.
    """

    name: str
    examine: Callable[[], Finding]
    connects: bool = False
    needs: Sequence[str] = ()
    timeout_s: float = LOCAL_TIMEOUT_S
    timeout_error: type[CodeRAGError] = CodeRAGError

    @property
    def group(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]


def run_probes(probes: Iterable[Probe], *, offline: bool = False) -> Iterator[Check]:
    """Run probes in order and yield each result as it completes.

    Args:
        probes: In execution order.
        offline: Skip probes that connect.
    """
    unavailable: set[str] = set()  # failed or skipped
    for probe in probes:
        missing = [name for name in probe.needs if name in unavailable]
        if offline and probe.connects:
            check = Check(probe.name, "skipped", "skipped: it connects to a server")
        elif missing:
            check = Check(probe.name, "skipped", f"skipped without {missing[0]}")
        else:
            check = _run_probe(probe)
        if check.status in ("failed", "skipped"):
            unavailable.add(probe.name)
        yield check


def _run_probe(probe: Probe) -> Check:
    """Run a probe in its own thread, which is abandoned at the timeout."""
    results: list[Check] = []
    thread = Thread(target=lambda: results.append(_examine(probe)), name=f"doctor-{probe.name}", daemon=True)
    started = time.perf_counter()
    thread.start()
    thread.join(probe.timeout_s)
    ms = round((time.perf_counter() - started) * 1e3, 1)
    if not results:
        return Check(
            probe.name,
            "failed",
            f"timed out after {probe.timeout_s:g} s",
            _TIMEOUT_HINT,
            ms,
            probe.timeout_error.__name__,
        )
    return replace(results[0], ms=ms)


def _examine(probe: Probe) -> Check:
    try:
        finding = probe.examine()
    except CodeRAGError as error:
        return Check(probe.name, "failed", str(error), error.hint, error=type(error).__name__)
    except Exception as error:  # noqa: BLE001  # a crashing check must not stop the rest
        message = f"internal error: {type(error).__name__}: {error}"
        return Check(probe.name, "failed", message, "Please report it.", error=INTERNAL_ERROR)
    return Check(probe.name, finding.status, finding.message, finding.hint)
