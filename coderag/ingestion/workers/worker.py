"""Worker process: reads jobs from its input, runs them, writes the results to its output.

Grammars are native code that runs on untrusted text: some crash on malformed text and some never return. Here that ends
only a worker; `coderag.ingestion.workers.worker_pool` detects it and continues without the file.
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

_CPU_SECONDS_PER_MB = 3  # per file and per megabyte; parsing a megabyte takes 0.1 to 0.7 s
_MEMORY_HEADROOM_BYTES = 1 << 30  # above the memory of a worker before its first job
_MEMORY_PER_FILE_BYTE = 250  # per byte of the largest allowed file: a tree takes some 100


def warm_up() -> None:
    """Import modules that the first job needs, and block those that it does not need."""
    avoid_pandas_import()
    count_tokens("")


def main() -> None:
    """Run jobs until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    results = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as devnull:  # noqa: PTH123  # output of libraries must not mix with messages
        os.dup2(devnull.fileno(), 1)
    warm_up()
    gc.disable()  # reference counting frees parsed files; a collection would traverse all objects of a job
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
                _collect_garbage()  # the parent is not waiting now


def _run_job(runner: JobRunner, job: ParseJob, results: IO[bytes]) -> object:
    def report_position(position: int) -> None:
        _limit_time(job.files[position].candidate.size if position >= 0 else None)
        write_message(results, position)

    try:
        return runner.run(job, report_position)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001  # the parent reports it
        return WorkerFault(traceback.format_exc())
    finally:
        _limit_time(None)


def _collect_garbage() -> None:
    """Free reference cycles; what is left are modules, which later collections need not traverse."""
    gc.collect()
    gc.freeze()


def _limit_time(size: int | None) -> None:
    """Limit the CPU time of this process for a file of a size in bytes; None removes the limit."""
    if hasattr(signal, "setitimer"):  # elsewhere the parent has a timeout
        seconds = 0.0 if size is None else _CPU_SECONDS_PER_MB * max(1.0, size / 1_000_000)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(max_file_bytes: int | None) -> None:
    """Limit the memory of this process, so that a damaged file ends it before it takes the machine's; None: no limit."""
    if sys.platform != "linux":  # macOS ignores the limit
        return
    import resource  # noqa: PLC0415  # POSIX only

    with suppress(OSError, ValueError):  # /proc may be missing, or the hard limit lower
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = hard
        if max_file_bytes is not None:
            used_bytes = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
            limit = used_bytes + _MEMORY_HEADROOM_BYTES + _MEMORY_PER_FILE_BYTE * max_file_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
