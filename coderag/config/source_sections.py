"""Models of ``sources`` in ``.coderag.yaml``: documentation and backlog systems, each with address, scope and credential."""

import re
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from coderag.config.sections import Section
from coderag.config.server_addresses import parse_server_address
from coderag.errors import ConfigurationError

SOURCE_NAME_HINT: Final = "Use up to 40 lower-case letters, digits, '-' and '_', such as 'team-wiki'."

_SOURCE_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?")
_RESERVED_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(10))}
)
"""Names of devices on Windows, which are no files there whatever their extension."""

_UNSCANNED_NAMES: Final = frozenset({"node_modules", "venv"})
"""Names of folders that no scan for the index enters."""


def is_source_name(name: str) -> bool:
    """Return whether a name may be that of a source, which is a folder's name, too."""
    return _SOURCE_NAME.fullmatch(name) is not None and name not in _RESERVED_NAMES | _UNSCANNED_NAMES


def _check_name(name: str) -> str:
    if not is_source_name(name):
        raise ValueError(f"{name!r} is not a name of a source: {SOURCE_NAME_HINT}")
    return name


class SourceSection(Section):
    """Base class of all sources."""

    system: str
    deletions_hours: float = Field(
        24.0,
        ge=0,
        le=8_760,
        description="Hours after which all ids are listed again, to find deletions; 0 is each time.",
    )


class RemoteSourceSection(SourceSection):
    """Base class of the sources on a server."""

    address: str = Field("", description="Address of the server.")
    token: SecretStr = Field(SecretStr(""), description="Token or key, as ${NAME} from the environment.")
    credential_file: str = Field("", description="File that holds the token and that only you may read.")
    timeout_s: float = Field(60.0, gt=0, le=3_600, description="Seconds to wait for one reply.")

    @property
    def has_own_credential(self) -> bool:
        """A credential of another kind, read by the connector: no token is needed."""
        return False

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str) -> str:
        if not address.strip():
            return ""
        try:
            return parse_server_address(address.strip(), "it")
        except ConfigurationError as error:
            raise ValueError(f"{error}. {error.hint}") from error


class ConfluenceSection(RemoteSourceSection):
    """Confluence Cloud or Data Center: the pages of spaces, or of a query."""

    system: Literal["confluence"]
    address: str = Field(description="Address, such as https://example.atlassian.net/wiki.")
    user: str = Field("", description="E-mail address of the account; of Data Center with a personal token, empty.")
    spaces: tuple[str, ...] = Field((), description="Keys of spaces.")
    cql: str = Field("", description="Query in CQL that selects pages, instead of spaces.")
    attachments: bool = Field(True, description="Whether attachments that hold text are mirrored.")

    @model_validator(mode="after")
    def _check_scope(self) -> "ConfluenceSection":
        _require_one(self, "spaces", "cql")
        return self


class JiraSection(RemoteSourceSection):
    """Jira Cloud or Data Center: the issues of projects, or of a query."""

    system: Literal["jira"]
    address: str = Field(description="Address, such as https://example.atlassian.net.")
    user: str = Field("", description="E-mail address of the account; of Data Center with a personal token, empty.")
    projects: tuple[str, ...] = Field((), description="Keys of projects.")
    jql: str = Field("", description="Query in JQL that selects issues, instead of projects.")

    @model_validator(mode="after")
    def _check_scope(self) -> "JiraSection":
        _require_one(self, "projects", "jql")
        return self


class SharePointSection(RemoteSourceSection):
    """SharePoint Online: the documents of a site's libraries, through Microsoft Graph."""

    system: Literal["sharepoint"]
    address: str = Field("https://graph.microsoft.com/v1.0", description="Address of Microsoft Graph.")
    login_address: str = Field("https://login.microsoftonline.com", description="Address that issues tokens.")
    tenant: str = Field(min_length=1, description="Id or domain of the tenant.")
    client_id: str = Field(min_length=1, description="Application id of the registered app; `token` is its secret.")
    site: str = Field(
        min_length=1, description="Address of the site, such as https://example.sharepoint.com/sites/team."
    )
    drives: tuple[str, ...] = Field((), description="Names of document libraries; empty takes all of the site.")
    pages: bool = Field(True, description="Whether site pages are mirrored, too.")
    permissions: bool = Field(True, description="Whether each file's readers are read; without it, files are private.")
    certificate_file: str = Field(
        "",
        description="PEM file with the app's certificate and private key, instead of a secret; only you may read it.",
    )

    @property
    def has_own_credential(self) -> bool:
        """A certificate instead of a token."""
        return bool(self.certificate_file)

    @field_validator("login_address")
    @classmethod
    def _check_login_address(cls, address: str) -> str:
        return cls._check_address(address)


class AzureDevOpsSection(RemoteSourceSection):
    """Azure DevOps: the work items of projects."""

    system: Literal["azure_devops"]
    address: str = Field("https://dev.azure.com", description="Address of the service, or of an own server.")
    organization: str = Field(min_length=1, description="Organization, or collection of an own server.")
    projects: tuple[str, ...] = Field(min_length=1, description="Names of projects.")
    area_paths: tuple[str, ...] = Field((), description="Area paths, with all below them; empty takes all.")
    types: tuple[str, ...] = Field((), description="Types of work items, such as Bug; empty takes all.")
    history: bool = Field(True, description="Whether state changes are read, with a request for each work item.")
    api_version: str = Field(
        "7.1", pattern=r"^\d+\.\d+$", description="Version of the API; older servers have 6.0 or 7.0."
    )


class ClickUpSection(RemoteSourceSection):
    """ClickUp: the tasks of a workspace, or of some of its spaces, folders and lists."""

    system: Literal["clickup"]
    address: str = Field("https://api.clickup.com/api/v2", description="Address of the API.")
    team: str = Field(min_length=1, description="Id of the workspace, which the API calls team.")
    spaces: tuple[str, ...] = Field((), description="Ids of spaces; empty takes all.")
    folders: tuple[str, ...] = Field((), description="Ids of folders; empty takes all.")
    lists: tuple[str, ...] = Field((), description="Ids of lists; empty takes all.")
    archived: bool = Field(False, description="Whether archived tasks are mirrored, too, with a request for each list.")
    comments: bool = Field(True, description="Whether comments are read, with a request for each task.")


class FilesSection(SourceSection):
    """Markdown, AsciiDoc, reStructuredText and OpenAPI documents of another folder, or of a git repository."""

    system: Literal["files"]
    path: str = Field("", description="Folder, relative to the repository or absolute.")
    git: str = Field("", description="Address or folder of a git repository, instead of a folder.")
    branch: str = Field("", description="Branch or tag of the git repository; empty takes its default branch.")
    include: tuple[str, ...] = Field((), description="Patterns of documents, such as docs/**; empty takes all.")
    exclude: tuple[str, ...] = Field((), description="Patterns of documents to leave out, such as archive/**.")
    url: str = Field("", description="Address of the documents for people; the path of each is appended to it.")
    deletions_hours: float = Field(0.0, ge=0, le=8_760, description="Hours after which all files are listed again.")

    @model_validator(mode="after")
    def _check_scope(self) -> "FilesSection":
        _require_one(self, "path", "git")
        if self.branch and not self.git:
            raise ValueError("branch needs git")
        if self.branch.startswith("-") or self.git.startswith("-"):  # git would read it as an option
            raise ValueError("git and branch may not begin with '-'")
        return self


class ReaderSection(SourceSection):
    """Any reader of LlamaIndex. All is loaded each time, and compared by content."""

    system: Literal["reader"]
    reader: str = Field(
        pattern=r"^[\w.]+:[\w.]+$", description="Class of the reader to import and run, as 'package.module:Class'."
    )
    arguments: dict[str, Any] = Field({}, description="Arguments of the class.")
    load_arguments: dict[str, Any] = Field({}, description="Arguments of its load_data.")
    kind: Literal["documentation", "backlog"] = Field("documentation", description="Kind of its documents.")


AnySourceSection = Annotated[
    ConfluenceSection
    | JiraSection
    | SharePointSection
    | AzureDevOpsSection
    | ClickUpSection
    | FilesSection
    | ReaderSection,
    Field(discriminator="system"),
]
SourceSections = dict[Annotated[str, AfterValidator(_check_name)], AnySourceSection]

SECTIONS_BY_SYSTEM: Final[dict[str, type[SourceSection]]] = {
    get_args(section.model_fields["system"].annotation)[0]: section
    for section in get_args(get_args(AnySourceSection)[0])
}
"""Model of each system's section."""

ADDRESS_FIELDS: Final = ("address", "login_address")
"""Fields that name servers to which a credential goes."""

OWN_HOSTS: Final[dict[str, tuple[str, ...]]] = {
    "confluence": (".atlassian.net",),
    "jira": (".atlassian.net",),
    "sharepoint": ("graph.microsoft.com", "login.microsoftonline.com"),
    "azure_devops": ("dev.azure.com",),
    "clickup": ("api.clickup.com",),
}
"""Hosts of each system's operator; one with a leading dot stands for those that end with it."""


def _require_one(section: Section, first: str, second: str) -> None:
    """Refuse a section with both of two settings, or none."""
    if bool(getattr(section, first)) == bool(getattr(section, second)):
        raise ValueError(f"set either {first} or {second}")
