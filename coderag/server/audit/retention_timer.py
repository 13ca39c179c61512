"""Timer that applies the retention of the audit record while a server runs."""

import logging
import threading
from typing import Final

from coderag.errors import CodeRAGError
from coderag.server.audit.audit_log import AuditLog

_INTERVAL_S: Final = 3_600.0

_log = logging.getLogger(__name__)


class RetentionTimer:
    """Thread that deletes entries that the settings do not keep, once an hour. Several processes take turns.

    Args:
        audit: The audit record.
        interval_s: Seconds between two runs; the first is after one of them.
    """

    def __init__(self, audit: AuditLog, interval_s: float = _INTERVAL_S) -> None:
        self._audit = audit
        self._interval_s = interval_s
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit-retention", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and wait for a run that is under way."""
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._is_ending.wait(self._interval_s):
            try:
                deleted = self._audit.prune(None)
            except CodeRAGError as error:
                _log.error("the retention of the audit record is not applied: %s", error)
            else:
                if deleted:
                    _log.info("%d entries of the audit record were deleted by retention", deleted)
