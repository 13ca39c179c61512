import pytest

from coderag.question.stack_traces import Frame, read_traces

PYTHON = """Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/shop/cli.py", line 12, in main
    cart.pay()
  File "C:\\\\Apps\\\\shop\\\\cart.py", line 40, in pay
    raise PaymentError("card declined")
shop.errors.PaymentError: card declined"""

TRACES = {
    "python": (
        PYTHON,
        [("C://Apps//shop//cart.py", 40, "pay"), ("/usr/lib/python3/dist-packages/shop/cli.py", 12, "main")],
    ),
    "ipython 8": (
        "File ~/venv/site-packages/shop/cart.py:40, in Cart.pay(self, card)\n     39 if not card:\n---> 40     raise",
        [("~/venv/site-packages/shop/cart.py", 40, "Cart.pay")],
    ),
    "ipython 5": ("/home/me/shop/cart.py in pay(self, card)\n    39 if", [("/home/me/shop/cart.py", 0, "pay")]),
    "pytest": (
        "src/shop/cli.py:12: in main\n    cart.pay()\nsrc/shop/cart.py:40: in pay",
        [("src/shop/cart.py", 40, "pay"), ("src/shop/cli.py", 12, "main")],
    ),
    "java": (
        "java.lang.IllegalStateException: no card\n\tat org.shop.Cart.pay(Cart.java:40)\n\tat org.shop.Main.main(Main.java:12)",
        [("Cart.java", 40, "org.shop.Cart.pay"), ("Main.java", 12, "org.shop.Main.main")],
    ),
    "javascript": (
        "TypeError: card is undefined\n    at Cart.pay (/srv/shop/cart.js:40:11)\n    at file:///srv/shop/main.mjs:12:3",
        [("/srv/shop/cart.js", 40, "Cart.pay"), ("/srv/shop/main.mjs", 12, "")],
    ),
    "go": (
        "goroutine 1 [running]:\nshop/internal/cart.(*Cart).Pay(0xc0000)\n"
        "\t/src/shop/internal/cart/cart.go:40 +0x1d\nmain.main()\n\t/src/shop/main.go:12 +0x25",
        [("/src/shop/internal/cart/cart.go", 40, "cart.(*Cart).Pay"), ("/src/shop/main.go", 12, "main.main")],
    ),
    "rust": (
        "   4: shop::cart::Cart::pay\n             at ./src/cart.rs:40:9\n   5: shop::main\n             at ./src/main.rs:12:5",
        [("src/cart.rs", 40, "shop::cart::Cart::pay"), ("src/main.rs", 12, "shop::main")],
    ),
    "ruby": (
        "lib/shop/cart.rb:40:in `pay': no card (ArgumentError)\n\tfrom bin/shop.rb:12:in `<main>'",
        [("lib/shop/cart.rb", 40, "pay"), ("bin/shop.rb", 12, "<main>")],
    ),
    "php": (
        "#0 /srv/shop/Cart.php(40): Shop\\Cart->pay()\n#1 /srv/shop/index.php(12): main()",
        [("/srv/shop/Cart.php", 40, "Shop\\Cart->pay"), ("/srv/shop/index.php", 12, "main")],
    ),
    "c#": (
        "   at Shop.Cart.Pay(Card card) in C:\\shop\\Cart.cs:line 40\n"
        "   at Shop.Program.Main() in C:\\shop\\Program.cs:line 12",
        [("C:/shop/Cart.cs", 40, "Shop.Cart.Pay"), ("C:/shop/Program.cs", 12, "Shop.Program.Main")],
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_the_call_that_failed_comes_first(language):
    text, calls = TRACES[language]
    frames = read_traces(text.splitlines()).frames
    assert [(frame.path, frame.line, frame.name) for frame in frames] == calls
    assert [frame.depth for frame in frames] == list(range(len(calls)))


def test_each_of_several_traces_has_a_call_that_failed():
    text = [*PYTHON.splitlines(), *["and much later"] * 20, *PYTHON.splitlines()]
    assert [frame.depth for frame in read_traces(text).frames].count(0) == 2


def test_the_lines_of_a_trace_are_known():
    assert read_traces(PYTHON.splitlines()).lines == {1, 3}


@pytest.mark.parametrize(
    "line", ["see src/cart.py, line 40", "at 10:30 we met", "http://localhost:8000 in use", "x" * 5_000 + ":1"]
)
def test_prose_is_no_call(line):
    assert read_traces([line]).frames == []


def test_a_place_without_a_function_is_a_frame_too():
    assert read_traces(['  File "cart.py", line 3']).frames == [Frame("cart.py", 3, "", 0)]
