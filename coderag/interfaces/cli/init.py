"""``coderag init``: a settings file that explains itself, made from the `Settings` model so that it cannot drift."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from coderag.errors import ConfigurationError
from coderag.interfaces.cli._options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli._streams import Output

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

SETTINGS_FILE = ".coderag.yaml"
SECRETS_FILE = ".coderag.local.yaml"

_HEADER = f"""\
# Settings of CodeRAG for this repository. All are optional: what is commented out shows the default.
# To change one, remove "# " from its line, and from the line of the group above it if there is one.
# ${{NAME}} takes a value from the environment. Keys and tokens belong in {SECRETS_FILE}, which git should ignore.
"""

ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing settings file.")]


@dataclass(frozen=True, slots=True)
class InitReport:
    """What was written.

    Attributes:
        overwritten: Whether there was a file before.
    """

    path: Path
    overwritten: bool


def init(
    *, force: ForceOption = False, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Write a .coderag.yaml that explains every setting.

    No setting is needed to start: all are commented out and show their defaults.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._root import find_root

    output = Output(as_json)
    report = init_repository(find_root(repo), force=force)
    if as_json:
        output.result(report)
    else:
        output.write(str(report.path))
    if not _ignores_secrets(report.path.parent):
        output.note(f"Add {SECRETS_FILE} to .gitignore before you put keys into it. .coderag/ ignores itself.")


def init_repository(root: Path, *, force: bool = False) -> InitReport:
    """Write the settings file of the repository at `root`.

    Raises:
        ConfigurationError: `root` is no folder to work on, or the file exists (without `force`) or cannot be written.
    """
    from coderag.interfaces.cli._root import is_too_wide

    folder = root.resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"{root}: no such folder")
    if is_too_wide(folder):
        raise ConfigurationError(f"{folder} is no repository", hint="Go to one, or name it with --repo.")
    path = folder / SETTINGS_FILE
    existed = path.exists()
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(settings_template())
    except FileExistsError as error:
        raise ConfigurationError(f"{path} already exists", hint="--force overwrites it.") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error
    return InitReport(path, overwritten=existed)


def settings_template() -> str:
    """Return a ``.coderag.yaml`` with every key of `Settings`, its description and its default."""
    from coderag.settings import Settings

    return f"{_HEADER}\n" + "\n".join(_section_lines(Settings, depth=0)) + "\n"


def _section_lines(model: "type[BaseModel]", depth: int) -> Iterator[str]:
    """Yield the lines of a model's fields. The first two levels stand, deeper ones are comments as a whole."""
    for name, field in model.model_fields.items():
        inner = _model_of(field)
        if inner is None:
            yield f"{_margin(depth)}# {_describe(field)}"
            active = name == "version"
            yield f"{_margin(depth)}{'' if active else '# '}{name}: {_scalar(field.default)}"
        elif inner.model_fields:
            if depth == 0:
                yield ""
            yield f"{_margin(depth)}# {_first_line(inner)}"
            yield f"{_margin(depth)}{'' if depth == 0 else '# '}{name}:"
            yield from _section_lines(inner, depth + 1)


def _margin(depth: int) -> str:
    """Return the indent; below a commented group it is a comment itself, so that both are uncommented alike."""
    return "  " * min(depth, 1) + "#   " * (depth - 1)


def _model_of(field: "FieldInfo") -> "type[BaseModel] | None":
    from pydantic import BaseModel

    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _first_line(model: "type[BaseModel]") -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _describe(field: "FieldInfo") -> str:
    """Return the description with the values that are allowed."""
    from pydantic import SecretStr

    text = (field.description or "").strip()
    if get_origin(field.annotation) is Literal:
        values = get_args(field.annotation)
        return f"{text} One of: {', '.join(map(str, values))}." if len(values) > 1 else text
    if field.annotation is SecretStr:
        return f"{text} Better kept in {SECRETS_FILE}."
    names = ("ge", "gt", "le")
    bounds = {name: f"{getattr(rule, name):,}" for rule in field.metadata for name in names if hasattr(rule, name)}
    match bounds:
        case {"ge": low, "le": high}:
            return f"{text} {low} to {high}."
        case {"ge": low}:
            return f"{text} At least {low}."
        case {"gt": low}:
            return f"{text} More than {low}."
        case _:
            return text


def _scalar(value: Any) -> str:  # noqa: ANN401  # any field's default
    import yaml
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, tuple):
        value = list(value)
    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=10_000)
    return dumped.removesuffix("...\n").strip()


def _ignores_secrets(root: Path) -> bool:
    """Whether the repository's ignore file names the secrets file, or there is no git to ignore it."""
    if not (root / ".git").exists():
        return True
    try:
        lines = (root / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"^[/*]*{re.escape(SECRETS_FILE)}\s*$", lines, re.MULTILINE) is not None
