"""Structured logs: one JSON object a line, without questions, secrets and messages of exceptions."""

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TextIO

REQUEST_ID: Final[ContextVar[str]] = ContextVar("coderag_request_id", default="")
"""Id of the request that the current thread or task works for."""

FIELDS: Final = "coderag"
"""Attribute of a log record with further fields, given as ``extra={FIELDS: {...}}``."""

_MAX_FRAMES: Final = 30
_SILENT: Final = ("uvicorn.access",)
"""Loggers of paths and queries, which hold names and questions; one line a request is logged without them."""

_FOREIGN_LEVEL: Final = logging.WARNING
_VERBOSE: Final = ("coderag", "uvicorn")


class JsonFormatter(logging.Formatter):
    """Formatter of records as JSON.

    The message of an exception is left out, as it may quote what a caller sent: its class and the lines are there.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            values["request_id"] = request_id
        fields = getattr(record, FIELDS, None)
        if isinstance(fields, dict):
            values |= fields
        if record.exc_info and record.exc_info[0] is not None:
            values["error"] = record.exc_info[0].__name__
            values["frames"] = _list_frames(record.exc_info[2])
        return json.dumps(values, ensure_ascii=False, default=str)


class ForeignFilter(logging.Filter):
    """Filter of access logs, and of records of other packages below a warning, whoever sets their levels."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        if record.name in _SILENT:
            return False
        return record.levelno >= _FOREIGN_LEVEL or record.name.partition(".")[0] in _VERBOSE


def configure_logs(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send the logs of the process to a stream as JSON lines, and those of nobody else.

    Start uvicorn with ``log_config=None``: otherwise it installs handlers of its own.

    Args:
        level: Lowest level of records of CodeRAG and its HTTP server.
        stream: The stream; None is stderr.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(ForeignFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _VERBOSE:
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.setLevel(logging.NOTSET)
            logger.propagate, logger.disabled = True, False


def _list_frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-_MAX_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
