"""Contents of files in commits, read through one ``git cat-file --batch``."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from coderag.ingestion.files.file_text import MAX_FILE_BYTES
from coderag.lineage.git_history import GitHistory
from coderag.system.git import GitProcess

_BLOCK_BYTES: Final = 1 << 20


class BlobReader:
    """Reads blobs one after the other; a process that dies of a missing object is started again."""

    def __init__(self, history: GitHistory) -> None:
        self._history = history
        self._process: GitProcess | None = None
        self._stop: Iterator[GitProcess | None] | None = None

    @classmethod
    @contextmanager
    def open(cls, history: GitHistory) -> "Iterator[BlobReader]":
        """Open a reader; its process ends with the block."""
        reader = cls(history)
        try:
            yield reader
        finally:
            reader.close()

    def read(self, name: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """Read a blob; None if it is missing, larger, or no blob.

        Args:
            name: Its id, or ``revision:path`` without a line break.
            max_bytes: Size from which its content is dropped.
        """
        if "\n" in name:
            return self._history.try_run("cat-file", "blob", name)
        process = self._start()
        if process is None or process.stdin is None:
            return None
        try:
            process.stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
            process.stdin.flush()
            header = process.stdout.readline().split()
            if len(header) != 3 or not header[2].isdigit():  # "<name> missing", or the end of the output
                if not header:
                    self.close()
                return None
            size = int(header[2])
            content = None
            if size <= max_bytes:
                content = process.stdout.read(size)
            else:
                _skip(process, size)
            process.stdout.read(1)
        except (OSError, ValueError):
            self.close()
            return None
        return content if header[1] == b"blob" else None

    def close(self) -> None:
        """End the process."""
        stop, self._stop, self._process = self._stop, None, None
        if stop is not None:
            next(stop, None)

    def _start(self) -> GitProcess | None:
        if self._stop is None:
            self._stop = self._run()
            self._process = next(self._stop)
        return self._process

    def _run(self) -> Iterator[GitProcess | None]:
        with self._history.open_process("cat-file", "--batch", has_input=True) as process:
            yield process
            if process is not None and process.stdin is not None:
                with suppress(OSError):  # it may have ended by itself
                    process.stdin.close()


def _skip(process: GitProcess, size: int) -> None:
    while size > 0 and (block := process.stdout.read(min(size, _BLOCK_BYTES))):
        size -= len(block)
