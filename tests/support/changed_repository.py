"""Small git repositories for reviews of changes."""

from pathlib import Path

from tests.support.hostile_git import run_plainly

SHOP_FILES = {
    "shop/cart.py": (
        "LIMIT = 5\n\n\nclass Cart:\n    def __init__(self):\n        self.items = []\n\n"
        "    def add(self, price):\n        self.items.append(price)\n\n"
        "    def total(self):\n        return add_up(self.items)\n\n\n"
        "def add_up(prices):\n    return sum(prices)\n"
    ),
    "shop/orders.py": (
        "from shop.cart import Cart\n\n\ndef place_order(prices):\n    cart = Cart()\n"
        "    for price in prices:\n        cart.add(price)\n    return cart.total()\n\n\n"
        "HANDLERS = {'add_up': 'sums the prices'}\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import Cart, add_up\n\n\ndef test_add_up():\n    assert add_up([1, 2]) == 3\n\n\n"
        "class TestCart:\n    def test_total(self):\n        cart = Cart()\n        cart.add(1)\n"
        "        assert cart.total() == 1\n"
    ),
    "tests/test_unrelated.py": "def test_nothing():\n    assert True\n",
    "docs/guide.md": "# Guide\n\nCall `add_up` to sum the prices.\n",
    "settings.toml": '[hooks]\ntotal = "shop.cart:add_up"\n',
}


def make_repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Make a repository with one commit; by default a small shop."""
    folder.mkdir(parents=True, exist_ok=True)
    run_plainly(folder, "init", "-q", "-b", "main")
    commit_files(folder, SHOP_FILES if files is None else files, "Start the shop")
    return folder


def write_files(folder: Path, files: dict[str, str | None]) -> None:
    """Write files; None removes one."""
    for path, text in files.items():
        place = folder / path
        if text is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


def commit_files(folder: Path, files: dict[str, str | None], message: str) -> str:
    """Write and commit files, and return the commit."""
    write_files(folder, files)
    run_plainly(folder, "add", "-A")
    run_plainly(folder, "commit", "-q", "--allow-empty", "-m", message)
    return run_plainly(folder, "rev-parse", "HEAD").decode().strip()
