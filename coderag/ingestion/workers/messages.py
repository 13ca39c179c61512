"""Messages between a worker process and its parent, see `coderag.system.process_messages`.

Parent to worker: `RunSettings`, then each `ParseJob`, at the end None; between runs a `WorkerCall`. Worker to parent: the
position of each file before its parsing, and finally a `JobResult` or a `WorkerFault`; None after the end of a run. After a
call: the messages of the function, then None.
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
