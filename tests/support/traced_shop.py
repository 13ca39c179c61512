"""A shop whose history has a reason, a ticket, a rename, a removal and a mass change, made by git itself."""

from pathlib import Path

from tests.support.histories import GitFolder

_FETCH = '''def fetch_page(url, timeout={timeout}):
    """Fetch the page of a supplier."""
    connection = open_connection(url)
    connection.limit(timeout)
    return connection.read()
'''
_PROXY = '''

def choose_proxy(url, proxies):
    """Choose the proxy of an address."""
    for pattern, proxy in proxies.items():
        if pattern in url:
            return proxy
    return None
'''
_CART = '''class Cart:
    """Goods that a customer collects."""

    def __init__(self, items):
        self.items = items

    def total(self):
        """Add the prices up."""
        return {total}
'''
_MARKS = '''

def convert_marks(amount):
    """Convert an amount of marks."""
    return amount / 1.95583
'''


class TracedShop:
    """Folder of the shop, and its commits by a word for each.

    Commit n is of day 13 + n of September 2020.

    Args:
        path: Folder; created.
    """

    def __init__(self, path: Path) -> None:
        folder = self.folder = GitFolder(path)
        pages = {f"pages/page{number}.py": f"TITLE = 'page {number}'\n" for number in range(12)}
        self.commits = {
            "start": folder.commit(
                "Open the shop",
                {
                    "shop/client.py": _FETCH.format(timeout=5),
                    "shop/cart.py": _CART.format(total="sum(self.items)") + _MARKS,
                    "limits.md": "# Limits\n\nA supplier has 5 seconds.\n",
                    **pages,
                },
            )
        }
        self.commits["timeout"] = folder.commit(
            "Raise the timeout to 30 seconds\n\nSlow suppliers answered late, and orders were lost.\n\nFixes: PROJ-45\n",
            {"shop/client.py": _FETCH.format(timeout=30), "limits.md": "# Limits\n\nA supplier has 30 seconds.\n"},
            author="Bob",
        )
        folder.git("tag", "v1.0")
        self.commits["proxy"] = folder.commit(
            "Add proxy support (#12)",
            {
                "shop/client.py": _FETCH.format(timeout=30) + _PROXY,
                "limits.md": "# Limits\n\nA supplier has 30 seconds, also through a proxy.\n",
            },
        )
        folder.git("mv", "shop/client.py", "shop/transport.py")
        self.commits["rename"] = folder.commit("Rename the client to transport")
        self.commits["marks"] = folder.commit(
            "Drop the old currency\n\nNobody pays in marks any more.\n",
            {"shop/cart.py": _CART.format(total="sum(self.items)")},
            author="Bob",
        )
        self.commits["quotes"] = folder.commit(
            "Use double quotes", {path: text.replace("'", '"') for path, text in pages.items()}
        )
        self.commits["cents"] = folder.commit(
            "Round totals to cents", {"shop/cart.py": _CART.format(total="round(sum(self.items), 2)")}, author="Bob"
        )

    @property
    def root(self) -> Path:
        """Folder of the repository."""
        return self.folder.path

    def get_short_id(self, name: str) -> str:
        """Return the id of a commit as answers show it."""
        return self.commits[name][:12]
