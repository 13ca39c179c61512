"""What a worker process and its parent send each other, see `coderag.process_messages`.

Parent to worker: `RunSettings`, then each `Job`, at the end None. Worker to parent: the position of each file it begins with,
and in the end a `JobResult` or a `Fault`; None when the run is put away.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of ours that ended a job."""

    message: str
