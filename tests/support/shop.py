"""A small shop in Python and TypeScript: calls across files, a class hierarchy, settings, tests and documentation."""

from pathlib import Path

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": '''"""The cart of a customer."""

from shop.discount import apply_discount
from shop.errors import EmptyCartError


class Cart:
    """Items that a customer wants to buy."""

    def __init__(self) -> None:
        self.items: list[tuple[str, int]] = []

    def add_item(self, name: str, price: int) -> None:
        """Add an item with its price in cents."""
        self.items.append((name, price))

    def compute_total(self, code: str = "") -> int:
        """Compute the total in cents, with the discount of a code."""
        if not self.items:
            raise EmptyCartError("the cart is empty")
        total = sum(price for _, price in self.items)
        return apply_discount(total, code)
''',
    "shop/discount.py": '''"""Discounts by code."""

MAX_DISCOUNT_PERCENT = 50
CODES = {"SPRING": 10, "STAFF": 60}


def apply_discount(total: int, code: str) -> int:
    """Reduce a total by the discount of a code, limited by MAX_DISCOUNT_PERCENT."""
    percent = min(CODES.get(code, 0), MAX_DISCOUNT_PERCENT)
    return total - total * percent // 100
''',
    "shop/errors.py": '''"""Errors of the shop."""


class ShopError(Exception):
    """Base of all errors of the shop."""


class EmptyCartError(ShopError):
    """A total was asked of an empty cart."""


class PaymentError(ShopError):
    """The bank declined a payment."""
''',
    "shop/checkout.py": '''"""Checkout: from a cart to a paid order."""

from shop.cart import Cart
from shop.errors import PaymentError
from shop.payment import Bank, charge


def checkout(cart: Cart, bank: Bank, code: str = "") -> str:
    """Charge the customer for a cart and return the number of the order."""
    total = cart.compute_total(code)
    if not charge(bank, total):
        raise PaymentError("the bank declined the payment")
    return create_order(cart, total)


def create_order(cart: Cart, total: int) -> str:
    """Store the order and return its number."""
    return f"order-{len(cart.items)}-{total}"
''',
    "shop/payment.py": '''"""Payments."""

import time

RETRY_DELAY_S = 0.5
MAX_ATTEMPTS = 3


class Bank:
    """A bank that takes payments."""

    def transfer(self, amount: int) -> bool:
        """Transfer an amount in cents; False if the bank declines."""
        return amount > 0


def charge(bank: Bank, amount: int) -> bool:
    """Charge an amount; a declined transfer is tried again after RETRY_DELAY_S."""
    for attempt in range(MAX_ATTEMPTS):
        if bank.transfer(amount):
            return True
        time.sleep(RETRY_DELAY_S * attempt)
    return False
''',
    "web/cart_view.ts": """export interface CartItem {
  name: string;
  price: number;
}

/** Format a price in cents for people. */
export function formatPrice(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}

/** Render the items of a cart as lines. */
export function renderCart(items: CartItem[]): string {
  return items.map((item) => `${item.name}: ${formatPrice(item.price)}`).join("\\n");
}
""",
    "tests/test_cart.py": """from shop.cart import Cart


def test_the_total_has_the_discount() -> None:
    cart = Cart()
    cart.add_item("pen", 200)
    assert cart.compute_total("SPRING") == 180
""",
    "README.md": "# Shop\n\nTo pay, call `checkout` with a `Cart` and a `Bank`.\n\n## Discounts\n\nA code reduces the total.\n",
}


def write_shop(root: Path) -> Path:
    """Write the repository, and return its folder."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
