"""Opening of SharePoint, Azure DevOps and ClickUp from their settings: addresses, scope and credentials."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from coderag.config.source_sections import AnySourceSection
from coderag.errors import ConfigurationError, SourceAuthenticationError
from coderag.sources.connector_table import open_source
from tests.unit.sources.azure_devops_server import TOKEN as PAT
from tests.unit.sources.azure_devops_server import AzureDevOpsServer
from tests.unit.sources.clickup_server import TOKEN as PERSONAL_TOKEN
from tests.unit.sources.clickup_server import ClickUpServer

SHAREPOINT = {
    "system": "sharepoint",
    "tenant": "contoso",
    "client_id": "app-1",
    "site": "https://contoso.sharepoint.com/sites/team",
}


def open_section(tmp_path: Path, **values: Any) -> Any:
    section = TypeAdapter(AnySourceSection).validate_python(values)
    return open_source("wiki", section, tmp_path, tmp_path / "wiki")


def test_azure_devops_uses_organization_projects_and_token(tmp_path: Path) -> None:
    with AzureDevOpsServer() as server:
        server.put(1, "x")
        source = open_section(
            tmp_path, system="azure_devops", address=server.url, organization="contoso", projects=["Fabrikam Fiber"],
            token=PAT, types=["Bug"], history=False,
        )  # fmt: skip
        assert source.check() == "Fabrikam Fiber"
        assert list(source.list_ids()) == ["1"]
        source.close()


def test_clickup_uses_workspace_scope_and_token(tmp_path: Path) -> None:
    with ClickUpServer() as server:
        server.put("t1", "x")
        server.put("t2", "x", list_id="8")
        values = {"address": f"{server.url}/api/v2", "team": "9", "lists": ["8"], "token": PERSONAL_TOKEN}
        source = open_section(tmp_path, system="clickup", **values)
        assert source.check() == "Acme"
        assert list(source.list_ids()) == ["t2"]
        source.close()


def test_sharepoint_opens_with_a_secret_or_a_certificate(tmp_path: Path) -> None:
    open_section(tmp_path, **SHAREPOINT, token="s3cret").close()
    file = tmp_path / "app.pem"
    file.write_text("-----BEGIN PRIVATE KEY-----\n")
    file.chmod(0o600)
    open_section(tmp_path, **SHAREPOINT, certificate_file=str(file)).close()


def test_sharepoint_without_a_credential_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceAuthenticationError, match=r"sources\.wiki\.token is not set"):
        open_section(tmp_path, **SHAREPOINT)


def test_certificate_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "app.pem"
    file.write_text("-----BEGIN PRIVATE KEY-----\n")
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="other users can read"):
        open_section(tmp_path, **SHAREPOINT, certificate_file=str(file))


def test_sign_in_address_without_encryption_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"login_address is http://login\.example"):
        open_section(tmp_path, **SHAREPOINT, token="s3cret", login_address="http://login.example")
