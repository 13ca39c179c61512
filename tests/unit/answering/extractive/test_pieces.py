from tests.support.corpora import make_context
from tests.support.extracted import extracted

FILES = {
    "shop/goods.py": (
        "class Goods:\n    def price(self):\n        return 0\n\n    def weigh(self):\n        return 1\n\n\n"
        "class Cheese(Goods):\n    def weigh(self):\n        return 2\n"
    ),
    "shop/wine.py": (
        "from shop.goods import Goods\n\n\nclass Wine(Goods):\n    def cellar(self):\n        return []\n\n"
        "    def price(self):\n        return 3\n"
    ),
}


def test_how_the_pieces_relate_is_what_the_line_says():
    text = extracted(make_context(FILES), "how is the weight of goods told", top_k=1).text
    assert "`Wine.price` overrides `Goods.price`: `def price(self):` — `shop/wine.py:8`" in text
    assert "`Cheese` extends `Goods`: `class Cheese(Goods):` — `shop/goods.py:9`" in text
