"""Printing of mirrored pages and tickets, stable in a pipe."""

from collections.abc import Iterator, Sequence

from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line
from coderag.schema.chunks import format_location
from coderag.schema.item_search import ItemHit, ItemListing, ItemReference, ItemResults, ItemSummary, ItemText

_MAX_LINE_CHARS = 240


def print_item_hits(results: ItemResults, output: Output) -> None:
    """Print the results of a search."""
    if output.as_json:
        output.write_json(results)
    elif results.hits:
        output.write("\n\n".join("\n".join(_format_hit(hit)) for hit in results.hits))


def print_item_list(listing: ItemListing, output: Output) -> None:
    """Print a page of a list, an item a line."""
    if output.as_json:
        output.write_json(listing)
        return
    if listing.items:
        output.write("\n".join(map(_format_title, listing.items)))
    if listing.next_offset:
        output.note(f"{listing.total:,} items; --offset {listing.next_offset} shows more")


def print_item_text(text: ItemText, output: Output) -> None:
    """Print a page of an item's text, then what it names."""
    if output.as_json:
        output.write_json(text)
        return
    output.write(escape_controls(text.text.rstrip("\n")))
    if text.references:
        output.write(
            "\n".join(["", "Named in its text (by their spelling alone):", *map(_format_reference, text.references)])
        )
    if text.page < text.pages:
        output.note(f"page {text.page} of {text.pages}; --page {text.page + 1} shows more")


def note_items(notes: Sequence[str], output: Output, remark: str | None) -> None:
    """Note a remark on the results, and what was not synchronised."""
    for note in filter(None, (remark, *notes)):
        output.note(escape_line(note))


def _format_hit(hit: ItemHit) -> Iterator[str]:
    yield f"{_format_title(hit.item)}  {hit.score:.3f}"
    if hit.item.url:
        yield f"    {escape_line(hit.item.url)}"
    place = format_location(hit.item.path, hit.start_line, hit.end_line)
    yield f"    {escape_line(f'{hit.heading}  {place}' if hit.heading else place)}"
    for number, line in enumerate(escape_controls(hit.snippet).split("\n"), hit.snippet_line):
        yield f"    {number:>5}  {line[:_MAX_LINE_CHARS]}".rstrip()


def _format_title(item: ItemSummary) -> str:
    details = ", ".join(
        filter(None, (item.type or item.kind, item.status, item.revision and f"revision {item.revision}"))
    )
    return escape_line(f"{item.source}  {item.id}  {item.title}  ({details})")


def _format_reference(reference: ItemReference) -> str:
    place = format_location(reference.path, reference.line, reference.line)
    return escape_line(f"  {reference.kind} {reference.name or reference.path}  {place}")
