"""Files of document libraries as items: download, conversion, readers."""

from typing import Any
from urllib.parse import quote

from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import PRIVATE, Item, ItemAccess, ItemFailure
from coderag.sources.document_text import MAX_DOCUMENT_BYTES, can_convert, convert_document
from coderag.sources.http_client import JSONClient
from coderag.sources.json_values import get_objects, get_text, get_value, parse_time
from coderag.sources.sharepoint.access import parse_access

_MAX_PERMISSION_PAGES = 50


class DriveFiles:
    """Reads files of document libraries.

    Args:
        client: Client of Microsoft Graph.
        max_bytes: Largest file that is downloaded.
        reads_permissions: Whether to ask for each file's readers; without it all files are private.
    """

    def __init__(
        self, client: JSONClient, *, max_bytes: int = MAX_DOCUMENT_BYTES, reads_permissions: bool = True
    ) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._reads_permissions = reads_permissions

    def read_file(self, drive_id: str, entry: dict[str, Any]) -> Item | ItemFailure | None:
        """Read a file of the change feed; None if it is gone.

        Raises:
            SourceUnavailableError: The service is unreachable or overloaded.
            SourceAuthenticationError: The service refuses the credential.
        """
        item_id = build_file_id(drive_id, get_text(entry, "id"))
        url = get_text(entry, "webUrl")
        size = entry.get("size")
        if isinstance(size, int) and size > self._max_bytes:
            return ItemFailure(item_id, f"it has {size:,} bytes; {self._max_bytes:,} are read at most", url)
        if "malware" in entry:
            return ItemFailure(item_id, "SharePoint has found malware in it", url)
        try:
            data = self._download(drive_id, entry)
            if data is None:
                return None
            text = convert_document(data, get_text(entry, "name"))
        except (SourceUnavailableError, SourceAuthenticationError):
            raise
        except SourceError as error:
            return ItemFailure(item_id, str(error), url)
        return self._build_item(drive_id, entry, text)

    def _download(self, drive_id: str, entry: dict[str, Any]) -> bytes | None:
        """Download a file by the address with its own permission; if that has expired, by its id."""
        address = get_text(entry, "@microsoft.graph.downloadUrl")
        if address:
            try:
                data = self._client.download(address, self._max_bytes)
            except SourceUnavailableError:
                raise
            except SourceError:
                data = None
            if data is not None:
                return data
        return self._client.download(f"{build_file_path(drive_id, get_text(entry, 'id'))}/content", self._max_bytes)

    def _build_item(self, drive_id: str, entry: dict[str, Any], text: str) -> Item:
        author = get_text(entry, "createdBy", "user", "displayName")
        editor = get_text(entry, "lastModifiedBy", "user", "displayName")
        people = {"author": author, "editor": editor}
        # "/drives/b!1/root:/Plans/2026"; a file at the top has only "/drives/b!1/root:"
        folder = get_text(entry, "parentReference", "path").partition("root:")[2].strip("/")
        return Item(
            id=build_file_id(drive_id, get_text(entry, "id")),
            kind="file",
            title=get_text(entry, "name"),
            text=text,
            url=get_text(entry, "webUrl"),
            revision=get_text(entry, "eTag"),
            created=parse_time(get_text(entry, "createdDateTime")),
            modified=parse_time(get_text(entry, "lastModifiedDateTime")),
            people={role: (name,) for role, name in people.items() if name},
            fields={"folder": folder} if folder else {},
            access=self._read_access(drive_id, get_text(entry, "id")),
        )

    def _read_access(self, drive_id: str, entry_id: str) -> ItemAccess:
        """Read the readers of a file; private if the application may not see them."""
        if not self._reads_permissions:
            return PRIVATE
        path = f"{build_file_path(drive_id, entry_id)}/permissions"
        permissions: list[dict[str, Any]] = []
        for _ in range(_MAX_PERMISSION_PAGES):
            reply = self._client.get(path, statuses=(403, 404))
            if reply.status != 200:
                return PRIVATE
            permissions += get_objects(reply.content, "value")
            path = get_text(reply.content, "@odata.nextLink")
            if not path:
                return parse_access(permissions)
        return PRIVATE


def is_file(entry: dict[str, Any]) -> bool:
    """Return whether an entry of a change feed is a file with text."""
    return isinstance(get_value(entry, "file"), dict) and can_convert(get_text(entry, "name"))


def build_file_path(drive_id: str, entry_id: str) -> str:
    """Build the path of a file at Microsoft Graph."""
    return f"drives/{quote(drive_id, safe='!')}/items/{quote(entry_id, safe='!')}"


def build_file_id(drive_id: str, entry_id: str) -> str:
    """Build the id of an item; a file's own id is unique only within its library."""
    return f"{drive_id}:{entry_id}"
