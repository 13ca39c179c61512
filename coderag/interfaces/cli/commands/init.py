"""``coderag init``: a commented settings file generated from the `Settings` model, so it cannot drift."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.errors import ConfigurationError, IngestionError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from coderag.interfaces.cli.commands.init_ollama import OllamaModels

_MAX_LINE_CHARS = 120

_HEADER = f"""\
# Settings of CodeRAG for this repository. All are optional: what is commented out shows the default.
# To change one, remove "# " from its line, and from the line of the group above it if there is one.
# ${{NAME}} takes a value from the environment. Keys and tokens belong in {LOCAL_FILE}, which git should ignore.
"""

ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing settings file.")]
LlmOption = Annotated[
    str | None,
    typer.Option(
        "--llm",
        metavar="PROVIDER/MODEL",
        help="Model that writes answers, such as ollama/qwen2.5-coder:7b.",
        show_default=False,
    ),
]
EmbeddingOption = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        metavar="PROVIDER/MODEL",
        help="Model that embeds code, such as ollama/nomic-embed-text.",
        show_default=False,
    ),
]
NoDetectOption = Annotated[bool, typer.Option("--no-detect", help="Do not look for a running Ollama.")]


@dataclass(frozen=True, slots=True)
class InitReport:
    """Result of ``coderag init``.

    Attributes:
        overwritten: Whether a file existed before.
        chosen: Settings of the chosen models, by section.
        ollama: Models of a detected Ollama; None if none was detected.
        trusted: Whether the repository is trusted; false if it has other, unreviewed settings.
    """

    path: Path
    overwritten: bool
    chosen: Mapping[str, Mapping[str, str]]
    ollama: "OllamaModels | None"
    trusted: bool


def init(
    *,
    llm: LlmOption = None,
    embedding: EmbeddingOption = None,
    no_detect: NoDetectOption = False,
    force: ForceOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write a .coderag.yaml that explains every setting.

    No setting is required: all but the chosen models are commented out and show their defaults. If Ollama runs, its models
    are offered; nothing is downloaded.
    """
    del debug  # read in main, before anything can fail
    from coderag.config.repository_root import find_root
    from coderag.interfaces.cli.commands.init_ollama import format_advice, list_missing_models

    output = Output(as_json)
    models = {section: text for section, text in (("llm", llm), ("embedding", embedding)) if text is not None}
    can_prompt = output.is_terminal and sys.stdin.isatty() and sys.stderr.isatty()
    report = init_repository(find_root(repo), models, force=force, detect=not no_detect, can_prompt=can_prompt)
    if as_json:
        output.write_json(
            {
                "path": report.path,
                "overwritten": report.overwritten,
                "chosen": report.chosen,
                "found": report.ollama,
                "trusted": report.trusted,
            }
        )
    else:
        output.write(str(report.path))
    if report.ollama is not None:
        if not (models or can_prompt) and (report.ollama.answers or report.ollama.embedding):
            output.note(format_advice(report.ollama))
        for model in list_missing_models(report.chosen, report.ollama):
            output.note(f"Ollama at {report.ollama.address} has no model {model}: fetch it with `ollama pull {model}`.")
    if report.chosen:
        output.note("Check the settings with `coderag doctor`.")
    if not report.trusted:
        output.note("The repository is not trusted, so not all settings apply: see `coderag trust`.")
    if not _is_secrets_file_ignored(report.path.parent):
        output.note(f"Add {LOCAL_FILE} to .gitignore before you put keys into it. .coderag/ ignores itself.")


def init_repository(
    root: Path,
    models: Mapping[str, str] | None = None,
    *,
    force: bool = False,
    detect: bool = False,
    can_prompt: bool = False,
) -> InitReport:
    """Write the settings file of the repository at `root`.

    Args:
        root: Folder of the repository.
        models: Models as ``provider/model``, by section.
        force: Overwrite an existing file.
        detect: Look for a running Ollama.
        can_prompt: Whether the user can be asked which models to use.

    Raises:
        IngestionError: `root` is not a usable folder.
        ConfigurationError: The file exists (without `force`) or cannot be written, or a provider does not exist.
    """
    from coderag.config.repository_root import is_too_wide, resolve_folder
    from coderag.interfaces.cli.commands.init_ollama import (
        build_sections,
        choose_models,
        detect_models,
        find_ollama_address,
    )

    folder = resolve_folder(root)
    if is_too_wide(folder):
        raise IngestionError(f"{folder} is not a repository", hint="Go to one, or name it with --repo.")
    path = folder / COMMITTED_FILE
    existed = path.exists()
    if existed and not force:
        raise ConfigurationError(f"{path} already exists", hint="--force overwrites it.")
    address = find_ollama_address(folder) if detect else ""
    build_sections(models or {}, address)  # reject invalid models before prompting
    ollama = detect_models(address) if detect else None
    chosen = {**(choose_models(ollama, set(models or ())) if ollama and can_prompt else {}), **(models or {})}
    sections = build_sections(chosen, address)
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(render_settings_template(sections))
    except FileExistsError as error:
        raise ConfigurationError(f"{path} already exists", hint="--force overwrites it.") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error
    return InitReport(path, existed, sections, ollama, trusted=_trust_own_settings(folder))


def _trust_own_settings(folder: Path) -> bool:
    """Trust the repository if its settings are only those written here; return whether it is trusted."""
    from coderag.config.trust import is_trusted, trust
    from coderag.interfaces.cli.commands.trust import compute_trust_effects

    try:
        effects = compute_trust_effects(folder)
        if not effects.prompts and all(
            restriction.place.startswith(f"{COMMITTED_FILE},") for restriction in effects.settings
        ):
            trust(folder)
    except ConfigurationError:  # another file is invalid, or the mark cannot be written
        return is_trusted(folder)
    return is_trusted(folder)


def render_settings_template(chosen: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Render a ``.coderag.yaml`` with each key of `Settings`, its description and default.

    Args:
        chosen: Values to set, by section and key.
    """
    from coderag.config.settings import Settings

    return f"{_HEADER}\n" + "\n".join(_render_section(Settings, depth=0, chosen=chosen or {})) + "\n"


def _render_section(model: "type[BaseModel]", depth: int, chosen: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a model's fields. The first two levels are active, deeper groups are commented out."""
    for name, field in model.model_fields.items():
        inner = _find_model(field)
        if inner is None:
            yield from (f"{_make_margin(depth)}# {line}" for line in _describe_field(field))
            active = name == "version" or name in chosen
            yield f"{_make_margin(depth)}{'' if active else '# '}{name}: {_dump_scalar(chosen.get(name, field.default))}"
        elif inner.model_fields:
            if depth == 0:
                yield ""
            yield f"{_make_margin(depth)}# {_read_first_line(inner)}"
            yield f"{_make_margin(depth)}{'' if depth == 0 else '# '}{name}:"
            yield from _render_section(inner, depth + 1, chosen.get(name, {}))


def _make_margin(depth: int) -> str:
    """Return the indent; in a commented group it includes the comment mark, so that both are uncommented alike."""
    return "  " * min(depth, 1) + "#   " * (depth - 1)


def _find_model(field: "FieldInfo") -> "type[BaseModel] | None":
    from pydantic import BaseModel

    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _read_first_line(model: "type[BaseModel]") -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _describe_field(field: "FieldInfo") -> list[str]:
    """Return description and allowed values, on one line if short enough."""
    parts = [part for part in ((field.description or "").strip(), _describe_allowed_values(field)) if part]
    line = " ".join(parts)
    return [line] if len(line) <= _MAX_LINE_CHARS else parts


def _describe_allowed_values(field: "FieldInfo") -> str:
    """Describe the allowed values of a setting in a sentence; empty if unnecessary."""
    from pydantic import SecretStr

    if get_origin(field.annotation) is Literal:
        values = get_args(field.annotation)
        return f"One of: {', '.join(map(str, values))}." if len(values) > 1 else ""
    if field.annotation is SecretStr:
        return f"Better kept in {LOCAL_FILE}."
    names = ("ge", "gt", "le")
    bounds = {name: f"{getattr(rule, name):,}" for rule in field.metadata for name in names if hasattr(rule, name)}
    match bounds:
        case {"ge": low, "le": high}:
            return f"{low} to {high}."
        case {"ge": low}:
            return f"At least {low}."
        case {"gt": low}:
            return f"More than {low}."
        case _:
            return ""


def _dump_scalar(value: Any) -> str:  # noqa: ANN401  # any field's default
    import yaml
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, tuple):
        value = list(value)
    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=10_000)
    return dumped.removesuffix("...\n").strip()


def _is_secrets_file_ignored(root: Path) -> bool:
    """Return whether .gitignore lists the secrets file, or the folder is not in git."""
    if not (root / ".git").exists():
        return True
    try:
        lines = (root / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"^[/*]*{re.escape(LOCAL_FILE)}\s*$", lines, re.MULTILINE) is not None
