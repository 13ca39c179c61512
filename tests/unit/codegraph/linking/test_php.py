"""PHP: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

STORE = """<?php
namespace Shop\\Stock;

interface Store { public function fetch(string $sku): ?Item; }
abstract class Base implements Store {
    use Counts;
    const LIMIT = 5;
    public static int $opened = 0;
    public function fetch(string $sku): ?Item { return null; }
    public static function open(string $path): static { return new static($path); }
    public function reset() { return $this; }
    protected function size(): int { return 0; }
}
class Item {
    public Store $owner;
    public int $price = 1;
    public function price(): int { return $this->price; }
    public function owner(): Store { return $this->owner; }
}
trait Counts {
    public function size(): int { return $this->tally(); }
    public function tick(): void {}
}
enum Grade: string implements Rated {
    case Good = 'g';
    case Bad = 'b';
    public function label(): string { return self::Good->value; }
}
interface Rated {}
class FileStore extends Base { private function tally(): int { return 1; } }
#[\\Attribute]
class Route {}
class Lost extends \\RuntimeException {}
function restock(Item $item): void {}
const STEP_SIZE = 3;
"""
STORE_FILE = "lib/stock.php"
USES = "use Shop\\Stock\\{Store, Item, FileStore as Files, Grade, Route, Lost, Counts};\n"
USES += "use function Shop\\Stock\\restock;\n"


def build_program(members: str, uses: str = USES, **files: str) -> Program:
    """Return the library with a class that has some members."""
    main = f"<?php\nnamespace Shop\\Web;\n{uses}class Page extends Frame {{\n{members}\n}}\nclass Frame {{}}\n"
    return {STORE_FILE: STORE, "web/page.php": main, **files}


def collect_targets(program: Program, *relations: str, source: str = "web/page.php:Page") -> set[str]:
    """Return the library's declarations that a class refers to by some relations."""
    return {
        target.partition(":")[2]
        for origin, _, target in triples(program, *relations)
        if origin.startswith(source) and target.startswith(f"{STORE_FILE}:")
    }


@pytest.mark.parametrize(
    ("members", "target"),
    [
        ("private ?Store $s; function a() { $this->s->fetch('x'); }", "Store.fetch"),
        ("private Store|null $s; function a() { $this->s?->fetch('x')->price(); }", "Item.price"),
        ("function __construct(private readonly Files $f) {} function a() { $this->f->tick(); }", "Counts.tick"),
        ("private $f; function __construct() { $this->f = new Files(); } function a() { $this->f->fetch(1); }", "Base.fetch"),
        ("private $f; function __construct(Files $f) { $this->f = $f; } function a() { $this->f->fetch(1); }", "Base.fetch"),
        ("function a(Files $f) { $f->size(); }", "Base.size"),
        ("function a() { Files::open('x')->reset()->tick(); }", "Counts.tick"),
        ("function a() { $f = Files::open('x'); $f->fetch('y')->owner()->fetch('z'); }", "Item.owner"),
        ("function a() { Grade::Good->label(); }", "Grade.label"),
        ("function a() { Grade::from('g')->label(); }", "Grade.label"),
        ("function a() { foreach (Grade::cases() as $g) { $g->label(); } }", "Grade.label"),
        ("function a(Item ...$items) { foreach ($items as $i => $item) { $item->price(); } }", "Item.price"),
        ("/** @param Item[] $all */ function a(array $all) { foreach ($all as $item) { $item->price(); } }", "Item.price"),
        ("/** @var array<string, Item> */ private array $all; function a() { $this->all['x']->price(); }", "Item.price"),
        ("/** @return list<Item> */ function all(): array {} function a() { $this->all()[0]->price(); }", "Item.price"),
        ("function a($x) { /** @var Item $item */ $item = $x->y; $item->price(); }", "Item.price"),
        ("function a($x) { if ($x instanceof Item) { $x->price(); } }", "Item.price"),
        ("function a($x) { $f = fn(Item $i) => $i->price(); }", "Item.price"),
        ("/** @param Item[] $xs */ function a($xs) { return array_map(fn($i) => $i->price(), $xs); }", "Item.price"),
        ("function a($x) { $y = $x ?? new Item(); $y->price(); }", "Item.price"),
        ("function a() { (clone new Item())->price(); }", "Item.price"),
        ("function a() { restock(null); }", "restock"),
        ("function a() { \\Shop\\Stock\\restock(null); }", "restock"),
        ("function a(\\Shop\\Stock\\Item $i) { $i->price(); }", "Item.price"),
    ],
)  # fmt: skip
def test_calls_resolve_through_namespaces_and_types(members: str, target: str) -> None:
    assert target in collect_targets(build_program(members), "calls")


@pytest.mark.parametrize(
    "members",
    [
        "function a($x) { $x->price(); }",
        "function a($x) { $x->fetch('a')->owner(); }",
        "function a($name) { $this->$name(); Files::$name(); }",
        "function a(Item $i) { $i->missing(); }",
        "function a() { return new class { function b() { $this->price(); } }; } function price() {}",
        "function a() { price(); Store(); }",
        "function a($x) {\nif ($x instanceof Item) { }\n$x->price(); }",
        "function a($x) { $item = new Item();\n$f = function ($item) { $item->price(); }; }",
    ],
)
def test_unknown_receivers_have_no_certain_edge(members: str) -> None:
    assert not collect_targets(build_program(members), "calls")


def test_class_of_the_own_namespace_is_not_imported_from_another() -> None:
    program = build_program("function a(Item $i) { $i->price(); new Files(); Item::LIMIT; }", uses="")
    assert not collect_targets(program)
    assert "Item" in collect_targets(
        build_program("function a(Stock\\Item $i) {}", uses="use Shop\\Stock;\n"), "references"
    )
    assert "STEP_SIZE" in collect_targets(
        build_program("function a() { return STEP_SIZE; }", uses="use const Shop\\Stock\\STEP_SIZE;\n"), "references"
    )


def test_fields_and_methods_of_one_name_are_distinct() -> None:
    program = build_program("function a(Item $i) { $i->owner->fetch('a'); $i->owner(); $i->price(); }")
    assert collect_targets(program, "calls") == {"Store.fetch", "Item.owner", "Item.price"}


@pytest.mark.parametrize(
    ("members", "targets"),
    [
        ("private Item $i;", {"Item"}),
        ("function a(?Item $i, Store&Rated $s): Grade|null {}", {"Item", "Store", "Grade"}),
        ("function a() { try { } catch (Lost | Other $e) { } }", {"Lost"}),
        ("#[Route('/x')] function a() {}", {"Route"}),
        ("function a() { return Item::class; }", {"Item"}),
        ("function a() { return Grade::Bad; }", {"Grade", "Grade.Bad"}),
        ("function a() { return Files::LIMIT + Files::$opened; }", {"FileStore", "Base.LIMIT", "Base.opened"}),
        ("/** @throws Lost */ function a() {}", {"Lost"}),
        ("function a() { usort($x, [Item::class, 'price']); }", {"Item", "Item.price"}),
        ("function a(Item $i) { $b->on('x', [$i, 'price']); }", {"Item", "Item.price"}),
        ("function a() { return restock(...); }", {"restock"}),
        ("function a() { call_user_func('Shop\\Stock\\restock'); }", {"restock"}),
        ("function a() { array_map('Shop\\Stock\\Item::price', []); }", {"Item.price"}),
        ("function a() { echo 'Shop\\Stock\\restock'; }", set()),
    ],
)
def test_types_and_callables_are_references(members: str, targets: set[str]) -> None:
    assert collect_targets(build_program(members), "references") == targets


def test_own_methods_and_functions_are_callables() -> None:
    program = {
        "hooks.php": "<?php\nfunction on_open() {}\nfunction other() {}\nclass Bus {\n"
        "  function start() { $this->register('on_open'); $this->run([$this, 'go']); $this->say('other'); }\n"
        "  function go() {}\n}\nregister_shutdown_function('on_open');\n$bus->listen($this->go(...));\n",
    }
    assert triples(program, "references") == {
        ("hooks.php:Bus.start", "references", "hooks.php:on_open"),
        ("hooks.php:Bus.start", "references", "hooks.php:Bus.go"),
        ("hooks.php", "references", "hooks.php:on_open"),
    }


def test_strings_that_may_name_a_function_are_less_certain() -> None:
    program = {
        "ops.php": "<?php\nfunction on_open() {}\nfunction onClose() {}\nfunction init() {}\n"
        "$ops = ['open' => 'on_open', 'close' => 'onClose', 'kind' => 'init'];\n$f = 'on_open';\n"
        "function run() { attach('on_open'); call_user_func('onClose'); }\n",
    }
    edges = [edge for edge in link(program) if edge.relation == "references"]
    assert {(edge.source, edge.target, edge.resolver) for edge in edges} == {
        ("ops.php", "ops.php:on_open", "string"),
        ("ops.php", "ops.php:onClose", "string"),
        ("ops.php:run", "ops.php:on_open", "string"),
        ("ops.php:run", "ops.php:onClose", "package"),
    }
    assert all(0.5 < edge.confidence < 0.7 for edge in edges if edge.resolver == "string")


def test_templates_and_methods_named_by_keywords_are_linked() -> None:
    program = {
        "lib/mail.php": "<?php\nnamespace App;\nclass Mail {\n  static function for($x): self { return new self(); }\n"
        "  function list() {}\n}\nfunction fmt_date($x) {}\n",
        "views/a.phtml": "<p><?= \\App\\fmt_date($x) ?></p>\n<?php foreach ($all as $x): ?>\n"
        "<?= \\App\\Mail::for($x)->list() ?>\n<?php endforeach ?>\n",
    }
    assert {edge for edge in triples(program, "calls") if edge[0] == "views/a.phtml"} == {
        ("views/a.phtml", "calls", "lib/mail.php:fmt_date"),
        ("views/a.phtml", "calls", "lib/mail.php:Mail.for"),
        ("views/a.phtml", "calls", "lib/mail.php:Mail.list"),
    }


def test_hierarchy_has_traits_interfaces_and_overrides() -> None:
    edges = triples({STORE_FILE: STORE}, "inherits", "implements", "overrides")
    names = {(source.partition(":")[2], relation, target.partition(":")[2]) for source, relation, target in edges}
    assert names == {
        ("Base", "implements", "Store"),
        ("Base", "implements", "Counts"),
        ("Base.fetch", "overrides", "Store.fetch"),
        ("Base.size", "overrides", "Counts.size"),
        ("Grade", "implements", "Rated"),
        ("FileStore", "inherits", "Base"),
    }


def test_trait_calls_methods_of_its_users() -> None:
    [edge] = [edge for edge in link({STORE_FILE: STORE}) if edge.target.endswith("FileStore.tally")]
    assert (edge.source, edge.relation) == (f"{STORE_FILE}:Counts.size", "calls")
    assert edge.confidence < 0.5


def test_parent_and_static_calls() -> None:
    program = {
        "a.php": "<?php\nclass A {\n  function __construct() {}\n  static function make() { return new static(); }\n"
        "  function go() {}\n}\n"
        "class B extends A {\n  use T;\n"
        "  function __construct() { parent::__construct(); self::make()->go(); static::make(); }\n"
        "  function go() { parent::go(); }\n}\ntrait T { function go() {} }\n",
    }
    assert {edge for edge in triples(program, "calls", "instantiates") if edge[0] != edge[2]} == {
        ("a.php:A.make", "instantiates", "a.php:A"),
        ("a.php:B.__construct", "calls", "a.php:A.__construct"),
        ("a.php:B.__construct", "calls", "a.php:A.make"),
        ("a.php:B.__construct", "calls", "a.php:B.go"),
        ("a.php:B.go", "calls", "a.php:A.go"),
    }


def test_imports_lead_to_declarations_files_and_packages() -> None:
    program = {
        "web/a.php": "<?php\nnamespace Web;\nuse Shop\\Item;\nuse Psr\\Log\\Logger as Log;\nuse function Shop\\pay;\n"
        "require_once __DIR__ . '/../inc/setup.php';\nrequire 'gone.php';\n",
        "src/item.php": "<?php\nnamespace Shop { class Item {} function pay() {} }\nnamespace Other { class Item {} }\n",
        "inc/setup.php": "<?php\n",
    }
    assert triples(program, "imports") == {
        ("web/a.php", "imports", "src/item.php:Shop.Item"),
        ("web/a.php", "imports", "src/item.php:Shop.pay"),
        ("web/a.php", "imports", "Psr\\Log\\Logger"),
        ("web/a.php", "imports", "inc/setup.php"),
    }


_COPIES = {
    "composer.json": '{"autoload": {"psr-4": {"App\\\\": "src/", "App\\\\Deep\\\\": ["none/", "lib"]}},'
    ' "autoload-dev": {"psr-4": []}}',
    "src/A.php": "<?php\nnamespace App;\nuse App\\Deep\\C;\nuse App\\Gone;\n"
    "class A { function run() { new C(); new D(); new Gone(); } }\n",
    "src/D.php": "<?php\nnamespace App;\nclass D {}",
    "src/old/D.php": "<?php\nnamespace App;\nclass D {}",
    "src/Deep/C.php": "<?php\nnamespace App\\Deep;\nclass C {}\n",
    "lib/C.php": "<?php\nnamespace App\\Deep;\nclass C {}\n",
    "far/Gone.php": "<?php\nclass Gone {}\n",
}


def test_composer_autoload_decides_between_equal_declarations() -> None:
    assert triples(_COPIES, "instantiates") == {
        ("src/A.php:A.run", "instantiates", "lib/C.php:C"),
        ("src/A.php:A.run", "instantiates", "src/D.php:D"),
    }


@pytest.mark.parametrize("autoload", ['{"psr-4": {"App\\\\": [1, null]}}', '{"psr-4": "x"}', "3", "{}"])
def test_malformed_composer_autoload_is_ignored(autoload: str) -> None:
    program = {**_COPIES, "composer.json": f'{{"autoload": {autoload}}}'}
    assert ("src/A.php:A.run", "instantiates", "src/D.php:D") in triples(program, "instantiates")


def test_functions_and_constants_fall_back_to_the_global_namespace() -> None:
    program = {
        "a.php": "<?php\nnamespace App;\n"
        "function run() { help(MAX_SIZE); namespace\\near(); \\near(); new Tool(); new \\Tool(); }\n"
        "function near() {}\n",
        "b.php": "<?php\nconst MAX_SIZE = 1;\nfunction help($x) {}\nfunction near() {}\nclass Tool {}\n",
    }
    assert triples(program, "calls", "references", "instantiates") == {
        ("a.php:run", "calls", "b.php:help"),
        ("a.php:run", "calls", "a.php:near"),
        ("a.php:run", "calls", "b.php:near"),
        ("a.php:run", "references", "b.php:MAX_SIZE"),
        ("a.php:run", "instantiates", "b.php:Tool"),
    }
    assert len([edge for edge in link(program) if edge.relation == "instantiates"]) == 1


def test_tests_are_linked_to_what_they_call() -> None:
    program = build_program("", **{"tests/ItemTest.php": "<?php\nuse Shop\\Stock\\Item;\nclass ItemTest {\n"
    "  function testPrice() { $item = new Item(); $item->price(); }\n}\n"})  # fmt: skip
    assert triples(program, "tests") == {
        ("tests/ItemTest.php:ItemTest.testPrice", "tests", f"{STORE_FILE}:Item"),
        ("tests/ItemTest.php:ItemTest.testPrice", "tests", f"{STORE_FILE}:Item.price"),
    }


@pytest.mark.parametrize(
    "changed",
    [
        {STORE_FILE: STORE.replace("class Item", "class Thing")},
        {STORE_FILE: STORE.replace("namespace Shop\\Stock", "namespace Shop\\Other")},
        {"more.php": "<?php\nnamespace Shop\\Web;\nclass Item { function price() {} }\n"},
        {"more.php": "<?php\nfunction helper() {}\n"},
        {"inc/setup.php": "<?php\n"},
    ],
)
def test_incremental_linking_equals_full_linking(changed: Program) -> None:
    before = build_program(
        "function a(Item $i, Here\\There $h) { $i->price(); helper(); new Nowhere(); }\n",
        uses=f"{USES}require 'inc/setup.php';\n",
    )
    after = {**before, **changed}
    assert_same_graph(build(after, build(before), before), build(after))
