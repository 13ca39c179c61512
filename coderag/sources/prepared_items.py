"""Items prepared for a mirror: people masked, secrets removed, rendered as Markdown."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple, get_args

from coderag.schema.items import Item, ItemKind, ItemLink
from coderag.schema.mirrored_items import MirroredItem
from coderag.sources.item_paths import build_item_path
from coderag.sources.item_people import ItemPeopleMask
from coderag.sources.rendering import clean_text, flatten_line, render_item

_MAX_ID_CHARS: Final = 1_000


class PreparedItem(NamedTuple):
    """Record of an item, and the text of its file."""

    record: MirroredItem
    text: str


def find_id_problem(item_id: object) -> str:
    """Return why an id cannot be stored; empty if it can."""
    if not isinstance(item_id, str) or not item_id.strip():
        return "it has no id"
    if len(item_id) > _MAX_ID_CHARS:
        return f"its id has {len(item_id):,} characters, and at most {_MAX_ID_CHARS:,} are allowed"
    return "its id has control characters" if clean_text(item_id) != item_id else ""


def find_kind_problem(kind: object) -> str:
    """Return why a kind cannot be stored; empty if it can."""
    return (
        ""
        if kind in get_args(ItemKind)
        else f"its kind is {kind!r}, and must be one of {', '.join(get_args(ItemKind))}"
    )


def prepare_item(source: str, item: Item, mask: ItemPeopleMask | None) -> PreparedItem:
    """Prepare an item.

    Args:
        source: Name of its source.
        item: The item, with a usable id.
        mask: Mask of people; None shows their names.
    """
    redact = _get_redactor()
    masked = mask.mask_item(item) if mask is not None else item
    clean = replace(masked, title=redact(flatten_line(masked.title)))  # before the title names the file
    text = redact(render_item(source, clean))

    def clean_line(value: str) -> str:
        return redact(flatten_line(value))

    record = MirroredItem(
        source=source,
        id=item.id,
        kind=item.kind,
        path=build_item_path(source, clean),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        title=clean.title,
        url=clean_line(item.url),
        revision=clean_line(item.revision),
        type=clean_line(item.type),
        status=clean_line(item.status),
        labels=tuple(map(clean_line, masked.labels)),
        people={flatten_line(role): tuple(map(clean_line, names)) for role, names in masked.people.items()},
        fields={flatten_line(name): clean_line(value) for name, value in masked.fields.items()},
        links=tuple(ItemLink(clean_line(link.relation), clean_line(link.target)) for link in item.links),
        access=replace(
            item.access,
            users=tuple(map(flatten_line, item.access.users)),
            groups=tuple(map(flatten_line, item.access.groups)),
        ),
        created=item.created,
        modified=item.modified,
        mirrored=datetime.now(UTC),
    )
    return PreparedItem(record, text)


def _get_redactor() -> Callable[[str], str]:
    from coderag.models.redaction.redactor import get_redactor  # noqa: PLC0415  # 0.3 s, and only writers need it

    redactor = get_redactor()
    return lambda text: redactor.redact(text).text
