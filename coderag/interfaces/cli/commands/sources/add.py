"""``coderag sources add``: check a source, then write it into the settings."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.sources.keys import build_section, list_keys, parse_keys
from coderag.interfaces.cli.commands.sources.opening import open_sources
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from coderag.config.source_sections import SourceSection

_SYSTEMS = ("confluence", "jira", "sharepoint", "azure_devops", "clickup", "files", "reader")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def complete_systems(start: str) -> list[str]:
    """Return the systems that begin with a text."""
    return [system for system in _SYSTEMS if system.startswith(start)]


def check_system(system: str | None) -> str | None:
    """Return the name of a system as the settings have it."""
    normalized = system.lower().replace("-", "_") if system is not None else None
    if normalized is not None and normalized not in _SYSTEMS:
        raise typer.BadParameter(f"{system!r} is not one of {', '.join(_SYSTEMS)}.")
    return normalized


NameArgument = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A name of your choice, such as team-wiki.", show_default=False)
]
SystemArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SYSTEM",
        help=f"One of {', '.join(_SYSTEMS)}.",
        callback=check_system,
        autocompletion=complete_systems,
        show_default=False,
    ),
]
PairsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE...", help="Keys of the system; lists have commas.", show_default=False),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token-env", metavar="VARIABLE", help="Environment variable that holds the token.", show_default=False
    ),
]
KeysOption = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="SYSTEM",
        help="Explain the keys of a system and exit.",
        callback=check_system,
        autocompletion=complete_systems,
        show_default=False,
    ),
]


def add(  # noqa: PLR0913  # one parameter an option
    name: NameArgument = None,
    system: SystemArgument = None,
    pairs: PairsArgument = None,
    *,
    token_env: TokenOption = None,
    keys: KeysOption = None,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add a source: check its address, credential and scope, then write it into .coderag.yaml.

    Example: coderag sources add wiki confluence address=https://example.atlassian.net/wiki user=me@example.org spaces=DOCS
    --token-env WIKI_TOKEN. The token itself stays in the environment, or in a file that credential_file names.
    """
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    if keys is not None:
        _print_keys(keys, output)
        return
    if name is None or system is None:
        raise typer.BadParameter("name the source and its system, as in 'add wiki confluence KEY=VALUE ...'.")
    _add_source(name, system, _collect_values(system, pairs or [], token_env), repo, output)


def _collect_values(system: str, pairs: list[str], token_env: str | None) -> dict[str, Any]:
    values = parse_keys(system, pairs)
    if token_env is not None:
        if not _REFERENCE.fullmatch(f"${{{token_env}}}"):
            raise typer.BadParameter(f"{token_env!r} is not a name of a variable.", param_hint="--token-env")
        values["token"] = f"${{{token_env}}}"
    token = values.get("token")
    if token is not None and not _REFERENCE.fullmatch(token):
        message = "tokens are not written into settings: name the variable that holds it with --token-env."
        raise typer.BadParameter(message, param_hint="token")
    return values


def _print_keys(system: str, output: Output) -> None:
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    keys = list_keys(system)
    if output.as_json:
        output.write_json({"system": system, "keys": [{"key": key, "description": text} for key, text in keys]})
        return
    print_report(f"keys of {system}", [ReportRow(key, text) for key, text in keys], output)


def _add_source(name: str, system: str, values: dict[str, Any], repo: Path | None, output: Output) -> None:
    from coderag.config.settings_edit import add_entry, read_settings_text, write_settings_text

    root, sources = open_sources(repo)
    if name in sources.names:
        hint = f"Edit {COMMITTED_FILE}, or remove it first with `coderag sources remove {name}`."
        raise InvalidQueryError(f"there is a source {name} already", hint=hint)
    section = build_section(name, system, values)
    had_effects = _has_trust_effects(root)
    committed, local = root / COMMITTED_FILE, root / LOCAL_FILE
    text = add_entry(read_settings_text(committed), "sources", name, {"system": system, **values})
    addresses = _find_approved_addresses(section, values)
    local_text = add_entry(read_settings_text(local), "sources", name, addresses) if addresses else ""
    with output.show_status(f"checking {name}"):
        scope = sources.check(name, section)
    if addresses:  # first, as the other file is refused without it
        write_settings_text(local, local_text, is_private=True)
    write_settings_text(committed, text)
    is_trusted = _trust_own_settings(root, had_effects=had_effects)
    if output.as_json:
        files = [committed, *([local] if addresses else [])]
        output.write_json({"name": name, "system": system, "scope": scope, "files": files, "trusted": is_trusted})
    else:
        output.write(escape_controls(f"added {name}: {scope}"))
    if addresses:
        output.note(f"{LOCAL_FILE} approves the address on this machine; git should ignore that file.")
    if not is_trusted:
        output.note("The repository is not trusted, so the source is not used: see `coderag trust`.")
    else:
        output.note(f"Mirror it with `coderag sources sync {name}`.")


def _find_approved_addresses(section: "SourceSection", values: dict[str, Any]) -> dict[str, Any]:
    """Return the addresses of other hosts than the system's own: only the user may send a credential there."""
    from coderag.config.credential_destinations import is_own_host
    from coderag.config.source_sections import ADDRESS_FIELDS, RemoteSourceSection

    if not isinstance(section, RemoteSourceSection):
        return {}
    return {
        key: values[key] for key in ADDRESS_FIELDS if key in values and not is_own_host(getattr(section, key), section)
    }


def _has_trust_effects(root: Path) -> bool:
    from coderag.interfaces.cli.commands.trust import compute_trust_effects

    return bool(compute_trust_effects(root))


def _trust_own_settings(root: Path, *, had_effects: bool) -> bool:
    """Trust the repository if nothing but the new source needs it; return whether it is trusted."""
    from coderag.config.repository_root import is_too_wide
    from coderag.config.trust import is_trusted, trust

    if not is_trusted(root) and not had_effects and not is_too_wide(root):
        trust(root)
    return is_trusted(root)
