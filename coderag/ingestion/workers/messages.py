"""What a worker process and its parent send each other, see `coderag.system.process_messages`.

Parent to worker: `RunSettings`, then each `ParseJob`, at the end None; between runs an `WorkerCall`. Worker to parent: the position of
each file it begins with, and in the end a `JobResult` or a `Fault`; None when the run is put away; of an errand what that
says, then None.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import IO


@dataclass(frozen=True, slots=True)
class WorkerFault:
    """An error of ours that ended a job."""

    message: str


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """Work of another kind, for which a worker is lent.

    Attributes:
        function: As ``module:function``; it is called with what the parent writes and what it reads.
    """

    function: str

    def run(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Do it."""
        module, _, name = self.function.partition(":")
        getattr(import_module(module), name)(requests, answers)
