"""Host names and origins that the team server answers to, against DNS rebinding and foreign pages."""

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from coderag.interfaces.serve.hosts import KnownHosts
from coderag.server.settings import ServerSettings


class PublicHosts:
    """Accepted host names: those of the public address, or of the address that is listened on.

    Args:
        settings: Settings in force.
    """

    def __init__(self, settings: ServerSettings) -> None:
        public = urlsplit(settings.public_url)
        self._public_host = public.netloc.lower()
        self._public_origin = f"{public.scheme}://{public.netloc}".lower() if public.netloc else ""
        self._known = KnownHosts(settings.host)

    def check(self, headers: Headers) -> None:
        """Check the host and the origin of a request.

        Raises:
            HTTPException: One of them is of another server.
        """
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not (hosts[0].lower() == self._public_host or self._known.is_host(hosts[0])):
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "the Host header is not allowed")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != self._public_origin and not self._known.is_origin(origin):
            raise HTTPException(HTTPStatus.FORBIDDEN, "the Origin header is not allowed")
