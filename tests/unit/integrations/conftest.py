import pytest

from coderag import CodeRAG

FILES = {
    "auth/passwords.py": (
        'def hash_password(secret):\n    """Hash a password with a fresh salt."""\n    return secret[::-1]\n\n\n'
        "def check_password(secret, stored):\n"
        '    """Tell whether a password is the stored one."""\n    return hash_password(secret) == stored\n'
    ),
    "auth/session.py": (
        "from auth.passwords import check_password\n\n\n"
        'class Session:\n    """A user who has logged in."""\n\n'
        "    def login(self, name, secret):\n"
        '        """Log a user in by a password."""\n'
        "        if not check_password(secret, self.stored[name]):\n"
        "            raise PermissionError(name)\n        return self.open(name)\n"
    ),
    "tests/test_passwords.py": (
        "from auth.passwords import check_password\n\n\n"
        "def test_a_password_is_checked():\n    assert check_password('a', 'a')\n"
    ),
    "web/cart.js": "export function total(items) {\n  return items.reduce((sum, item) => sum + item.price, 0);\n}\n",
}


def write(root):
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def unindexed(tmp_path):
    return write(tmp_path / "unindexed")


@pytest.fixture(scope="package")
def repository(tmp_path_factory):
    """Return the folder of an indexed repository, which no test may change."""
    root = write(tmp_path_factory.mktemp("repository"))
    CodeRAG(root).index()
    return root
