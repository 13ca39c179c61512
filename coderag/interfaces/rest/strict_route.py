"""Strict JSON request bodies: limited in size and depth, in UTF-8, without duplicate keys or NaN."""

import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from email.message import Message
from typing import Any, Final, Protocol

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

MAX_BODY_BYTES: Final = 4 << 20

GATE_KEY: Final = "coderag.request_gate"
"""Key of an ASGI scope with the `RequestGate` of a server with accounts; without it, the owner may do everything."""


class StrictRequest(Request):
    """A request whose body is read within a size limit.

    Attributes:
        takes_body: Whether its route takes a body.
        query_names: Names of the parameters that its route takes from the address.
    """

    takes_body: bool = False
    query_names: frozenset[str] = frozenset()

    async def body(self) -> bytes:
        """Read the body.

        Raises:
            HTTPException: It is too large.
        """
        if not hasattr(self, "_body"):
            chunks, size = [], 0
            async for chunk in self.stream():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise HTTPException(413, f"the body has more than {MAX_BODY_BYTES:,} bytes")
                chunks.append(chunk)
            self._body = b"".join(chunks)
        return self._body

    async def json(self) -> Any:  # noqa: ANN401  # as in the base class
        """Parse the body.

        Raises:
            HTTPException: It is not valid JSON.
        """
        return parse_strictly(await self.body())


def parse_strictly(body: bytes) -> Any:  # noqa: ANN401  # any value of JSON
    """Parse JSON in UTF-8 without duplicate keys, NaN and infinite numbers, so that all parsers read the same.

    Raises:
        HTTPException: It is not valid.
    """
    try:
        return json.loads(
            body.decode(),
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
        )
    except RecursionError as error:
        raise HTTPException(400, "the body is nested too deeply") from error
    except ValueError as error:  # wrong syntax, encoding, key or number
        raise HTTPException(400, f"the body is not valid JSON: {error}") from error


class RequestGate(Protocol):
    """Decider of whether a caller may use a route."""

    async def __call__(
        self, request: StrictRequest, route: str, handle: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Handle a request if its caller may send it.

        Args:
            request: The request; its body can be read again by the handler.
            route: Method and path of the route, such as ``GET /chat/{thread}``.
            handle: Handler of the route.

        Raises:
            CodeRAGError: The request is refused.
        """
        ...


class StrictRoute(APIRoute):
    """A route that accepts only JSON bodies, see `StrictRequest`, behind the gate of its server, if there is one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of its requests."""
        handle = super().get_route_handler()
        takes_body, query_names = self.body_field is not None, frozenset(_list_query_names(self.dependant))
        name = get_route_name(self)

        async def handle_strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            strict.takes_body, strict.query_names = takes_body, query_names
            if takes_body and await strict.body() and not _is_json(request.headers.get("content-type", "")):
                raise HTTPException(415, "the Content-Type of the body must be application/json")
            gate: RequestGate | None = request.scope.get(GATE_KEY)
            return await handle(strict) if gate is None else await gate(strict, name, handle)

        return handle_strictly


def get_route_name(route: APIRoute) -> str:
    """Return method and path of a route, below the prefix of its app."""
    return f"{' '.join(sorted(route.methods or ()))} {route.path}"


def _list_query_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for dependency in dependant.dependencies:
        yield from _list_query_names(dependency)


def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type or "none/none"
    main, sub = message.get_content_maintype(), message.get_content_subtype()
    return main == "application" and (sub == "json" or sub.endswith("+json"))


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("duplicate key")
    return mapping


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


def _parse_finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number
