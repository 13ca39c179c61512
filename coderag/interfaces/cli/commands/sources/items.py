"""``coderag sources search`` and ``show``: mirrored pages and tickets."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption, read_query
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.schema.item_search import DEFAULT_ITEMS, MAX_ITEMS, ItemFilters, ItemScope

if TYPE_CHECKING:
    from coderag.engine.items.item_search import ItemSearch

_DATE_FORMATS: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

QuestionArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[QUESTION]", help="A question, or an id as PROJ-45. Without it, list the items.", show_default=False
    ),
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the page or ticket, as search prints it.", show_default=False)
]
SourceOption = Annotated[
    list[str] | None, typer.Option("--source", "-s", metavar="NAME", help="Only this source.", show_default=False)
]
ScopeOption = Annotated[
    ItemScope | None, typer.Option("--scope", help="Only documentation, or only the backlog.", show_default=False)
]
TypeOption = Annotated[
    list[str] | None,
    typer.Option("--type", "-t", metavar="TYPE", help="Only this type, as Bug or Story.", show_default=False),
]
StateOption = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATUS", help="Only this status, as Done.", show_default=False)
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="LABEL", help="Only with this label.", show_default=False)
]
PersonOption = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="NAME", help="Only with this person, in any role.", show_default=False),
]
SinceOption = Annotated[
    datetime | None,
    typer.Option("--since", metavar="DATE", help="Only modified since.", formats=_DATE_FORMATS, show_default=False),
]
UntilOption = Annotated[
    datetime | None,
    typer.Option("--until", metavar="DATE", help="Only modified before.", formats=_DATE_FORMATS, show_default=False),
]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, max=MAX_ITEMS, help="Maximum number of items.")
]
OffsetOption = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Items of a list to skip.")]
OneSourceOption = Annotated[
    str, typer.Option("--source", "-s", metavar="NAME", help="Its source, if several have the id.", show_default=False)
]
PageOption = Annotated[int, typer.Option("--page", metavar="N", min=1, help="Page of a long text.")]


def add_item_commands(group: typer.Typer) -> None:
    """Add the commands to the group ``coderag sources``."""
    group.command("search", cls=LightCommand)(search_items)
    group.command("show", cls=LightCommand)(show_item)


def search_items(  # noqa: PLR0913  # one parameter an option
    question: QuestionArgument = None,
    *,
    source: SourceOption = None,
    scope: ScopeOption = None,
    type_: TypeOption = None,
    state: StateOption = None,
    tag: TagOption = None,
    person: PersonOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = DEFAULT_ITEMS,
    offset: OffsetOption = 0,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Search the mirrored pages and tickets, or list them."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.items import note_items, print_item_hits, print_item_list

    filters = ItemFilters(
        types=tuple(type_ or ()),
        states=tuple(state or ()),
        tags=tuple(tag or ()),
        sources=tuple(source or ()),
        people=tuple(person or ()),
        since=since,
        until=until,
        scope=scope,
    )
    output = Output(as_json)
    items = _open_items(repo, output)
    if not question:
        with output.show_status("reading"):
            listing = items.list_items(filters=filters, limit=limit, offset=offset)
        print_item_list(listing, output)
        note_items(
            listing.notes, output, None if listing.items else "no items" + (" with these filters" * bool(filters))
        )
        return
    text = read_query(question)
    with output.show_status("searching"):
        results = items.search(text, limit=limit, filters=filters)
    print_item_hits(results, output)
    verdict = None if results.evidence == "found" else f"{results.evidence.replace('_', ' ')}: ask in other words"
    note_items(results.notes, output, verdict)


def show_item(
    item_id: IdArgument,
    *,
    source: OneSourceOption = "",
    page: PageOption = 1,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show a mirrored page or ticket, and what its text names in the code."""
    del debug  # as above
    from coderag.interfaces.cli.output.items import print_item_text

    output = Output(as_json)
    items = _open_items(repo, output)
    with output.show_status("reading"):
        text = items.get(item_id, source=source, page=page)
    print_item_text(text, output)


def _open_items(repo: "RepoOption", output: Output) -> "ItemSearch":
    from coderag.interfaces.cli.indexed_engine import open_local_engine

    return open_local_engine(repo, output).items
