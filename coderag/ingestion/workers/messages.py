"""Messages between a worker process and its parent, see `coderag.process_messages`.

Parent to worker: `RunSettings`, then each `ParseJob`, at the end None; between runs an `WorkerCall`. Worker to parent: the
position of
each file it begins with, and in the end a `JobResult` or a `WorkerFault`; None when the run is put away; of an errand what that
says, then None.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import IO


@dataclass(frozen=True, slots=True)
class WorkerFault:
    """An internal error that ended a job."""

    message: str


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """Call of another function in a worker.

    Attributes:
        function: As ``module:function``; it is called with the streams that the parent writes and reads.
    """

    function: str

    def run(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Call the function."""
        module, _, name = self.function.partition(":")
        getattr(import_module(module), name)(requests, answers)
