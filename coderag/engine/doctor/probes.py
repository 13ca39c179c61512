"""Run checks one after the other, each within its time; what fails does not keep the next from running."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Thread

from coderag.engine.doctor.report import Check, Status
from coderag.errors import CodeRAGError

LOCAL_TIMEOUT_S = 60.0
INTERNAL_ERROR = "InternalError"

_TIMEOUT_HINT = "Try once more: what is loaded by the first request takes long."


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found, unless it raised an error."""

    message: str
    hint: str = ""
    status: Status = "ok"


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing to check.

    Attributes:
        look: Returns what it found; an error is a failed check.
        connects: Whether it speaks to a server.
        needs: Probes without which it says nothing: if one of them has failed or was not tried, it is not tried.
        timeout_s: Seconds after which it has failed.
        overdue: The error that it has failed with then.
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
    """Yield what came of each probe, as soon as it is known.

    Args:
        probes: In the order in which they are run.
        offline: Whether to leave out those that connect.
    """
    unavailable: set[str] = set()  # failed or not tried
    for probe in probes:
        missing = [name for name in probe.needs if name in unavailable]
        if offline and probe.connects:
            check = Check(probe.name, "skipped", "not tried: it would connect to a server")
        elif missing:
            check = Check(probe.name, "skipped", f"not tried without {missing[0]}")
        else:
            check = _run_probe(probe)
        if check.status in ("failed", "skipped"):
            unavailable.add(probe.name)
        yield check


def _run_probe(probe: Probe) -> Check:
    """Run a probe in a thread of its own, which is left behind when time is over."""
    results: list[Check] = []
    thread = Thread(target=lambda: results.append(_examine(probe)), name=f"doctor-{probe.name}", daemon=True)
    started = time.perf_counter()
    thread.start()
    thread.join(probe.timeout_s)
    ms = round((time.perf_counter() - started) * 1e3, 1)
    if not results:
        return Check(
            probe.name, "failed", f"no end after {probe.timeout_s:g} s", _TIMEOUT_HINT, ms, probe.timeout_error.__name__
        )
    return replace(results[0], ms=ms)


def _examine(probe: Probe) -> Check:
    try:
        finding = probe.examine()
    except CodeRAGError as error:
        return Check(probe.name, "failed", str(error), error.hint, error=type(error).__name__)
    except Exception as error:  # noqa: BLE001  # one check that breaks must not end the others
        message = f"internal error: {type(error).__name__}: {error}"
        return Check(probe.name, "failed", message, "Please report it.", error=INTERNAL_ERROR)
    return Check(probe.name, finding.status, finding.message, finding.hint)
