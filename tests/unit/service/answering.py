"""A program that answers HTTP on a port, as the service does or otherwise."""

import socket
import threading
from collections.abc import Callable

from coderag.service.client import CHALLENGE_HEADER, PROOF_HEADER, compute_proof


class Answering:
    """Answers each connection with what `reply` returns for the request's bytes.

    Args:
        reply: Makes the reply; by default that of a service with `token` to the question whether it lives.
    """

    def __init__(self, reply: Callable[[bytes], bytes] | None = None) -> None:
        self.token = "a-token-for-tests"  # made up
        self.received = b""
        self._reply = reply or self._healthy
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        if self._thread.is_alive():
            self._listening.shutdown(socket.SHUT_RDWR)
            self._thread.join(10)
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request and (piece := connection.recv(65_536)):
                    request += piece
                self.received += request
                connection.sendall(self._reply(request))

    def _healthy(self, request: bytes) -> bytes:
        lines = request.decode().split("\r\n")
        challenge = next((line.split(": ")[1] for line in lines if line.startswith(CHALLENGE_HEADER)), "")
        proof = compute_proof(self.token, challenge)
        return f"HTTP/1.1 200 OK\r\n{PROOF_HEADER}: {proof}\r\ncontent-length: 0\r\n\r\n".encode()
