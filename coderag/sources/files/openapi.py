"""OpenAPI documents as Markdown: one heading for each operation and each schema.

Nothing outside the document is read: references to other files stay as they are written.

Source: https://spec.openapis.org/oas/v3.1.0, https://swagger.io/specification/v2
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MARK: Final = re.compile(rb"""(?m)^[ \t{,]*["']?(?:openapi|swagger)["']?[ \t]*:""")
_MAX_REFERENCES: Final = 20
_MAX_PROPERTIES: Final = 200


class OpenAPIError(ValueError):
    """A document that looks like OpenAPI cannot be read."""


def is_openapi(data: bytes) -> bool:
    """Return whether YAML or JSON has a key ``openapi`` or ``swagger`` at the beginning of a line, or of the text."""
    return _MARK.search(data) is not None


def render_openapi(data: bytes, path: str) -> tuple[str, str] | None:
    """Return title and Markdown of an OpenAPI document; None if it is another document.

    Raises:
        OpenAPIError: It cannot be parsed.
    """
    document = _parse(data, path)
    if not isinstance(document, Mapping) or not ({"openapi", "swagger"} & document.keys()):
        return None
    info = _get_mapping(document, "info")
    title = " ".join(filter(None, (_to_text(info.get("title")) or "API", _to_text(info.get("version")))))
    return title, "\n".join(_Renderer(document).render()).strip() + "\n"


def _parse(data: bytes, path: str) -> Any:  # noqa: ANN401  # any document
    import yaml  # noqa: PLC0415  # only OpenAPI needs it

    try:
        text = data.decode("utf-8-sig")
        if path.lower().endswith(".json"):
            return json.loads(text)
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = f" in line {line + 1}" if line is not None else ""
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        language = "JSON" if path.lower().endswith(".json") else "YAML"
        raise OpenAPIError(f"it is not valid {language}{place}: {reason}") from error


class _Renderer:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def render(self) -> Iterator[str]:
        """Yield lines: description, servers, operations, schemas."""
        yield from self._render_text(_get_mapping(self._document, "info").get("description"))
        servers = _get_list(self._document, "servers")
        urls = [_to_text(server.get("url")) for server in servers if isinstance(server, Mapping)]
        if host := _to_text(self._document.get("host")):
            urls = [host + _to_text(self._document.get("basePath"))]
        if urls:
            yield f"Servers: {', '.join(urls)}\n"
        for section in ("paths", "webhooks"):
            for path, item in _get_mapping(self._document, section).items():
                yield from self._render_path(str(path), self._resolve(item))
        schemas = _get_mapping(_get_mapping(self._document, "components"), "schemas")
        for name, schema in (schemas or _get_mapping(self._document, "definitions")).items():
            yield f"## Schema {name}\n"
            yield from self._render_schema(self._resolve(schema))

    def _render_path(self, path: str, item: Mapping[str, Any]) -> Iterator[str]:
        shared = item.get("parameters")
        for method in _METHODS:
            operation = item.get(method)
            if not isinstance(operation, Mapping):
                continue
            yield f"## {method.upper()} {path}\n"
            yield from self._render_text(operation.get("summary"))
            yield from self._render_text(operation.get("description"))
            facts = (
                ("Operation", _to_text(operation.get("operationId"))),
                ("Tags", ", ".join(map(_to_text, _get_list(operation, "tags")))),
                ("Deprecated", "yes" if operation.get("deprecated") is True else ""),
            )
            lines = [f"- {name}: {value}" for name, value in facts if value]
            yield from ([*lines, ""] if lines else ())
            parameters = [*(shared if isinstance(shared, list) else ()), *_get_list(operation, "parameters")]
            yield from self._render_parameters([self._resolve(parameter) for parameter in parameters])
            yield from self._render_body(self._resolve(operation.get("requestBody")))
            yield from self._render_responses(_get_mapping(operation, "responses"))

    def _render_parameters(self, parameters: list[Mapping[str, Any]]) -> Iterator[str]:
        if not parameters:
            return
        yield "Parameters:\n"
        for parameter in parameters:
            schema = parameter.get("schema")
            kind = self._describe_schema(schema if isinstance(schema, Mapping) else parameter)
            facts = [_to_text(parameter.get("in")), kind, "required" if parameter.get("required") is True else ""]
            description = _flatten(parameter.get("description"))
            details = ", ".join(filter(None, facts))
            yield f"- `{_to_text(parameter.get('name'))}` ({details}){f': {description}' if description else ''}"
        yield ""

    def _render_body(self, body: Mapping[str, Any]) -> Iterator[str]:
        if not body:
            return
        yield f"Request body{', required' if body.get('required') is True else ''}:\n"
        yield from self._render_text(body.get("description"))
        yield from self._render_content(_get_mapping(body, "content"))
        yield ""

    def _render_content(self, content: Mapping[str, Any]) -> Iterator[str]:
        for media_type, media in content.items():
            schema = media.get("schema") if isinstance(media, Mapping) else None
            yield f"- `{media_type}`: {self._describe_schema(schema)}"

    def _render_responses(self, responses: Mapping[str, Any]) -> Iterator[str]:
        if not responses:
            return
        yield "Responses:\n"
        for status, value in responses.items():
            response = self._resolve(value)
            content = _get_mapping(response, "content")
            schemas = [media.get("schema") for media in content.values() if isinstance(media, Mapping)]
            schemas += [response["schema"]] if "schema" in response else []
            kinds = ", ".join(dict.fromkeys(filter(None, map(self._describe_schema, schemas))))
            yield f"- {status}: {_flatten(response.get('description'))}{f' ({kinds})' if kinds else ''}"
        yield ""

    def _render_schema(self, schema: Mapping[str, Any]) -> Iterator[str]:
        yield from self._render_text(schema.get("description"))
        required = set(map(_to_text, _get_list(schema, "required")))
        parts = [schema, *(self._resolve(part) for key in ("allOf",) for part in _get_list(schema, key))]
        properties = {name: value for part in parts for name, value in _get_mapping(part, "properties").items()}
        if not properties:
            yield f"{self._describe_schema({**schema, 'title': ''})}\n"
            return
        for name, value in list(properties.items())[:_MAX_PROPERTIES]:
            details = self._describe_schema(value) + (", required" if name in required else "")
            description = _flatten(value.get("description")) if isinstance(value, Mapping) else ""
            yield f"- `{name}` ({details}){f': {description}' if description else ''}"
        if len(properties) > _MAX_PROPERTIES:
            yield f"- and {len(properties) - _MAX_PROPERTIES} more"
        yield ""

    def _describe_schema(self, schema: Any, depth: int = 0) -> str:  # noqa: ANN401  # any value of the document
        """Return a short name of a type, such as ``array of Pet``."""
        if not isinstance(schema, Mapping) or depth > _MAX_REFERENCES:
            return "any"
        if reference := _to_text(schema.get("$ref")):
            return reference.rpartition("/")[2]
        for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if parts := _get_list(schema, key):
                return word.join(
                    dict.fromkeys(self._describe_schema(part, depth + 1) for part in parts[:_MAX_REFERENCES])
                )
        kind = schema.get("type")
        name = " or ".join(map(_to_text, kind)) if isinstance(kind, list) else _to_text(kind)
        if name == "array":
            return f"array of {self._describe_schema(schema.get('items'), depth + 1)}"
        if values := _get_list(schema, "enum"):
            return f"{name or 'one'} of {', '.join(map(_to_text, values[:_MAX_REFERENCES]))}"
        form = _to_text(schema.get("format"))
        return (f"{name} ({form})" if form else name) or ("object" if "properties" in schema else "any")

    def _resolve(self, value: Any) -> Mapping[str, Any]:  # noqa: ANN401  # any value of the document
        """Return a mapping with local references followed; empty for anything else."""
        for _ in range(_MAX_REFERENCES):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            value = self._document
            for part in reference[2:].split("/"):
                key = part.replace("~1", "/").replace("~0", "~")
                value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}

    @staticmethod
    def _render_text(value: object) -> Iterator[str]:
        if isinstance(value, str) and value.strip():
            yield f"{value.strip()}\n"


def _get_mapping(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return {str(name): inner for name, inner in value.items()} if isinstance(value, Mapping) else {}


def _get_list(values: Mapping[str, Any], key: str) -> list[Any]:
    value = values.get(key)
    return value if isinstance(value, list) else []


def _to_text(value: object) -> str:
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _flatten(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
