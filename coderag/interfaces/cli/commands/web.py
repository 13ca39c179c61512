"""``coderag web``."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from coderag.interfaces.cli.options import DebugOption, FolderArgument, JsonOption, RepoOption, choose_repository
from coderag.interfaces.cli.output.streams import Output

PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65_535,
        help="Port on 127.0.0.1; 0 picks a free one. Default: the last one, 8321 or a free one.",
        show_default=False,
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the default browser.")]


def web(
    folder: FolderArgument = None,
    *,
    repo: RepoOption = None,
    port: PortOption = None,
    open_browser: OpenOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the repository in a browser: code, search, graph, map and answers.

    Starts the service in the background if it does not run, and prints an address that signs in one browser within two
    minutes. The pages are for this machine only.
    """
    del debug  # read in main, before anything can fail
    from coderag.config.repository_root import find_root, resolve_folder
    from coderag.service.client import WEB_PATH, ServiceClient
    from coderag.service.launcher import start_in_background

    output = Output(as_json)
    root = resolve_folder(find_root(choose_repository(folder, repo)))
    with output.show_status("starting the service"):
        address, _ = start_in_background()
        reply = ServiceClient(address).call("POST", WEB_PATH, {"port": port})
    url = build_page_url(reply, root)
    if as_json:
        output.write_json({"url": url, "address": reply["url"], "root": str(root)})
    else:
        output.write(url)
        output.note("The address signs in one browser, within two minutes. Stop with 'coderag serve --stop'.")
    if open_browser and typer.launch(url) != 0:
        output.note("no browser could be opened")


def build_page_url(reply: dict[str, Any], root: Path) -> str:
    """Build the address of a repository's page; the code is in the fragment, which browsers do not send."""
    return f"{reply['url']}/?repo={quote(str(root), safe='')}#code={reply['code']}"
