"""A worker process: reads jobs from its input, does them, writes the results to its output.

Grammars are native code over whatever a repository holds: some crash on malformed text and some never return. Here that
ends a process whose only business is one job; `coderag.ingestion.workers.worker_pool` notices and goes on without the file.
"""

import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import IO

from coderag.ingestion.workers.jobs import JobRunner, ParseJob, RunSettings
from coderag.ingestion.workers.messages import WorkerCall, WorkerFault
from coderag.stores.pandas_guard import avoid_pandas_import
from coderag.system.process_memory import trim_heap
from coderag.system.process_messages import read_message, write_message
from coderag.text.token_counts import count_tokens

_CPU_SECONDS_PER_MB = 3  # of CPU, and for each further megabyte; parsing a megabyte takes 0.1 to 0.7
_MEMORY_HEADROOM_BYTES = 1 << 30  # bytes, beside what a worker takes before its first job
_MEMORY_PER_FILE_BYTE = 250  # of the largest file allowed: a tree takes some 100


def warm_up() -> None:
    """Load what the first job would have to wait for, and keep out what it does not need."""
    avoid_pandas_import()
    count_tokens("")


def main() -> None:
    """Do jobs until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    results = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as devnull:  # noqa: PTH123  # what a library prints must not come between messages
        os.dup2(devnull.fileno(), 1)
    warm_up()
    gc.disable()  # what is parsed is freed by counting; it would look through all that a job has made
    gc.freeze()
    runner: JobRunner | None = None
    with suppress(EOFError, BrokenPipeError):
        while True:
            message = read_message(sys.stdin.buffer)
            if isinstance(message, RunSettings):
                _limit_memory(message.max_file_bytes)
                runner = JobRunner(message, worker=f"{os.getpid()}:{message.run}")
            elif isinstance(message, WorkerCall):
                _limit_memory(None)
                message.run(sys.stdin.buffer, results)
                write_message(results, None)
                _collect_garbage()
                trim_heap()
            elif runner and message:
                write_message(results, _run_job(runner, message, results))
            else:
                if runner:
                    runner.close()
                runner = None
                write_message(results, None)
                _collect_garbage()  # now nobody waits


def _run_job(runner: JobRunner, job: ParseJob, results: IO[bytes]) -> object:
    def report_position(position: int) -> None:
        _limit_time(job.files[position].candidate.size if position >= 0 else None)
        write_message(results, position)

    try:
        return runner.run(job, report_position)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001  # the parent says what it was
        return WorkerFault(traceback.format_exc())
    finally:
        _limit_time(None)


def _collect_garbage() -> None:
    """Free what refers to itself; what is left are modules, which the next time need not be looked through."""
    gc.collect()
    gc.freeze()


def _limit_time(size: int | None) -> None:
    """Have the system end this process when a file of so many bytes takes too much CPU time; None for no limit."""
    if hasattr(signal, "setitimer"):  # elsewhere the parent watches the clock
        seconds = 0.0 if size is None else _CPU_SECONDS_PER_MB * max(1.0, size / 1_000_000)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(max_file_bytes: int | None) -> None:
    """Have allocation fail, and so end this process, before one damaged file takes the machine's memory; None for no limit."""
    if sys.platform != "linux":  # macOS has the limit and does not heed it
        return
    import resource  # noqa: PLC0415  # POSIX only

    with suppress(OSError, ValueError):  # there may be no /proc, or no more to be had
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = hard
        if max_file_bytes is not None:
            used_bytes = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
            limit = used_bytes + _MEMORY_HEADROOM_BYTES + _MEMORY_PER_FILE_BYTE * max_file_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
