"""A small code graph with every relation, and names that are hard to quote."""

from coderag.stores.graph_tables import GraphTables
from tests.support.graph_tables import make_tables

HOSTILE = 'it\'s "\\u0027" \\'
"""A name of a key: quotes, what looks like an escape, and a backslash at the end."""


def shop_graph() -> GraphTables:
    return make_tables(
        {
            "shop/cart.py": [
                ("Cart", "class", 1, 9),
                ("Cart.add", "method", 2, 3),
                ("Cart.total", "method", 4, 9),
                ("main", "function", 11, 12),
                ("unused", "function", 14, 15),
            ],
            "shop/gift.py": [("Gift", "class", 1, 9), ("Gift.cost", "method", 2, 3)],
            "shop/item.py": [
                ("Priced", "interface", 1, 3),
                ("Item", "class", 5, 9),
                ("Item.cost", "method", 6, 9),
                ("price", "function", 11, 12),
                (HOSTILE, "constant", 14, 14),
            ],
            "tests/test_cart.py": [("test_total", "function", 1, 3)],
            "guide.md": [],
        },
        [
            ("shop/cart.py", "imports", "shop/item.py", 1, 1.0, "import"),
            ("shop/item.py", "imports", "Cart", 1, 1.0, "import"),
            ("shop/gift.py", "imports", "Item", 1, 1.0, "import"),
            ("shop/cart.py", "imports", "json", 2, 1.0, "import"),
            ("shop/gift.py", "imports", "json", 2, 1.0, "import"),
            ("shop/gift.py", "imports", "decimal", 3, 1.0, "import"),
            ("main", "instantiates", "Cart", 12),
            ("main", "calls", "Cart.total", 12),
            ("Cart.total", "calls", "Item.cost", 5),
            ("Cart.total", "calls", "Item.cost", 7),
            ("Cart.total", "calls", "Gift.cost", 5, 0.3, "candidates"),
            ("Item.cost", "calls", "price", 7),
            ("Cart.add", "references", "Item", 2),
            ("Item", "implements", "Priced", 5),
            ("Gift", "inherits", "Item", 1),
            ("Gift.cost", "overrides", "Item.cost", 2),
            ("test_total", "tests", "Cart.total", 2),
            ("test_total", "calls", "main", 3),
            ("guide.md", "documents", "Cart", 4),
        ],
        ["decimal", "json"],
        {"price": 1.0, "Cart": 0.25},
    )
