"""Facts of files without declarations: names mentioned in documents, and module settings in configuration."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from coderag.ingestion.parsing.sections import DOCUMENT_LANGUAGES
from coderag.schema.facts import FileFacts, Mention

_MAX_SETTINGS_CHARS: Final = 200_000  # module settings are written by hand
_INLINE_CODE = re.compile(r"``?([^`\n]{2,100})``?")
_NAME = re.compile(r"~?([^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*)(?:\(.*\))?$")
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_GO_MODULE = re.compile(r"\s*+(?://[^\n]*+\s*+)*+module\s+(\S+)")
_GO_REQUIRED = re.compile(r"^[^\S\n]*(?:require\s+)?([\w.-]+/\S+)\s+v\d", re.MULTILINE)
_GO_REPLACED = re.compile(r"^[^\S\n]*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\.{1,2}(?:/\S*)?)\s*$", re.MULTILINE)
_PACKAGE_NAME = re.compile(r"(?:@[\w.~-]+/)?[\w.~-]+")  # what npm allows
_USING = re.compile(r"""<Using\s+Include\s*=\s*["']([\w.]+)["']""")

_JSON_SETTINGS: Final = {
    "compilerOptions": ("baseUrl", "paths", "rootDir", "rootDirs", "outDir"),
    "autoload": ("psr-4",),
    "autoload-dev": ("psr-4",),
}
_PACKAGE_KEYS: Final = frozenset(
    {"version", "private", "scripts", "dependencies", "devDependencies", "peerDependencies"}
)
"""Keys of which a package without settings of modules has one."""

_JSON_KEYS: Final = (
    "name", "main", "module", "types", "typings", "exports", "imports", "source", "workspaces", "extends", "references",
)  # fmt: skip
_TOML_TABLES: Final = ("package", "workspace", "lib", "dependencies", "bin")  # Cargo's


def read_text_facts(text: str, language: str) -> FileFacts:
    """Read the facts of a document or a data file."""
    if language in DOCUMENT_LANGUAGES:
        return FileFacts(language, mentions=_find_mentions(text))
    if len(text) <= _MAX_SETTINGS_CHARS:
        return FileFacts(language, settings=read_module_settings(text, language))
    return FileFacts(language)


def read_module_settings(text: str, language: str) -> dict[str, Any]:
    """Read the settings of module resolution from a file, recognized by its form alone; empty if there are none.

    Supported forms are ``tsconfig.json``, ``package.json``, ``composer.json``, ``Cargo.toml``, ``go.mod`` and .NET projects.
    """
    try:
        if language == "json":
            return _read_json_settings(text)
        if language == "toml" and ("[package]" in text or "[workspace]" in text):
            return _read_toml_settings(text)
    except (ValueError, RecursionError):
        return {}
    if language == "xml" and "<Project" in text:
        return {"project_usings": _USING.findall(text)}
    if (module := _GO_MODULE.match(text)) and ("\ngo " in text or "\nrequire" in text):
        required = sorted(set(_GO_REQUIRED.findall(text)))
        return {
            "go_module": module[1].strip('"`'),
            "go_required": required,
            "replaced": dict(_GO_REPLACED.findall(text)),
        }
    return {}


def _read_json_settings(text: str) -> dict[str, Any]:
    if not any(f'"{key}"' in text for key in (*_JSON_SETTINGS, *_JSON_KEYS)):
        return {}
    stored = json.loads(_TRAILING_COMMA.sub("", _COMMENT.sub(lambda match: match[1] or "", text)))
    if not isinstance(stored, dict):
        return {}
    settings = {key: stored[key] for key in _JSON_KEYS if key in stored}
    for section, names in _JSON_SETTINGS.items():
        if isinstance(values := stored.get(section), Mapping):
            settings[section] = {name: values[name] for name in names if name in values}
    is_package = not _PACKAGE_KEYS.isdisjoint(stored) or (
        stored.keys() == {"name"} and bool(_PACKAGE_NAME.fullmatch(str(stored["name"])))
    )
    return settings if settings.keys() - {"name"} or is_package else {}


def _read_toml_settings(text: str) -> dict[str, Any]:
    stored = tomllib.loads(text)
    settings: dict[str, Any] = {}
    for table in _TOML_TABLES:
        values = stored.get(table)
        if isinstance(values, Mapping):
            settings[table] = {
                name: value for name, value in values.items() if name in ("name", "path", "members", "edition")
                or (isinstance(value, Mapping) and "path" in value)
            }  # fmt: skip
    return json.loads(json.dumps(settings, default=str))  # type: ignore[no-any-return]


def _find_mentions(text: str) -> list[Mention]:
    """Return the names in inline code of a document, each at its first line."""
    first_lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if "`" not in line:
            continue
        for code in _INLINE_CODE.findall(line):
            if (name := _NAME.match(code.strip())) and len(name[1]) > 2:
                first_lines.setdefault(name[1].replace("::", ".").replace("#", "."), number)
    return [Mention(name, line) for name, line in first_lines.items()]
