"""A session of `requests` that reads a reply within limits of size and time, which the library has none for."""

import time
from typing import Any

from requests import Response, Session
from requests.exceptions import ReadTimeout, RequestException

_PART_BYTES = 64 * 1024


class OversizedReplyError(RequestException):
    """A reply is larger than the session accepts."""


class BoundedSession(Session):
    """A session that stops reading a reply at a limit.

    Args:
        max_bytes: Largest reply in bytes, after decompression.
        deadline_s: Seconds that a reply may take in all.
    """

    def __init__(self, max_bytes: int, deadline_s: float) -> None:
        super().__init__()
        self._max_bytes = max_bytes
        self._deadline_s = deadline_s

    def request(self, *args: Any, **options: Any) -> Response:  # noqa: ANN401  # as they come
        """Send a request and read its reply.

        Raises:
            OversizedReplyError: The reply is larger than the limit.
            ReadTimeout: It is not complete at the deadline.
        """
        end = time.monotonic() + self._deadline_s
        response = super().request(*args, **{**options, "stream": True})
        body = bytearray()
        with response:
            for part in response.iter_content(_PART_BYTES):
                body += part
                if len(body) > self._max_bytes:
                    message = f"the reply is larger than {self._max_bytes:,} bytes"
                    raise OversizedReplyError(message)
                if time.monotonic() > end:
                    message = "the reply is not complete at the deadline"
                    raise ReadTimeout(message)
        response._content = bytes(body)  # where `content` keeps what it read
        return response
