"""Uses in the templates of single-file components."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_TOOLS: Program = {
    "tools.ts": """export function trim(s: string) { return s; }
export function save() {}
export function row() {}
export class Guest { label() { return ""; } }
export function guests(): Guest[] { return []; }
export const counter = writable(0);
""",
    "Child.vue": '<template><p/></template>\n<script>\nexport default { props: ["a"] };\n</script>\n',
    "Badge.svelte": '<script>export let text = "";</script>\n<b>{text}</b>\n',
    "Frame.astro": "<slot />\n",
}

_VUE_HEAD = """<script setup lang="ts">
import Child from "./Child.vue";
import * as Parts from "./parts";
import { trim, save, row, guests } from "./tools";
const vFocus = {};
</script>
"""
_SVELTE_HEAD = """<script context="module" lang="ts">
  import { row } from "./tools";
</script>
<script>
  import Badge from "./Badge.svelte";
  import * as Parts from "./parts";
  import { trim, save, guests, counter } from "./tools";
</script>
"""
_ASTRO_HEAD = """---
import Frame from "./Frame.astro";
import { trim, save, guests } from "./tools";
---
"""


def uses_of(program: Program, path: str) -> set[tuple[str, str, int]]:
    """Return relation, target and line of the uses at the file level of a component."""
    return {
        (edge.relation, edge.target, edge.line)
        for edge in link(program)
        if edge.source == path and edge.relation != "imports" and edge.confidence >= 0.5
    }


@pytest.mark.parametrize(
    ("template", "uses"),
    [
        ("<p>{{ trim('a') }}</p>", {("calls", "tools.ts:trim", 8)}),
        ("<p>\n{{ trim('a') }}</p>", {("calls", "tools.ts:trim", 9)}),
        ('<p :title="trim(1)" v-if="row()" />', {("calls", "tools.ts:trim", 8), ("calls", "tools.ts:row", 8)}),
        ('<p @click="save" />', {("calls", "tools.ts:save", 8), ("references", "tools.ts:save", 8)}),
        ('<p v-on:click.once="save(); row()" />', {("calls", "tools.ts:save", 8), ("calls", "tools.ts:row", 8)}),
        ('<p @click="(e: Event) => save()" />', {("calls", "tools.ts:save", 8)}),
        ('<p :class="{ on: trim(1) && row() }" />', {("calls", "tools.ts:trim", 8), ("calls", "tools.ts:row", 8)}),
        ('<p @x="1 &gt; 0 &amp;&amp; save()" />', {("calls", "tools.ts:save", 8)}),
        ("<Child />", {("references", "Child.vue", 8)}),
        ("<child></child><child-row />", set()),
        ("<Parts.Child />", {("references", "Child.vue", 8)}),
        ('<component :is="Child" />', {("references", "Child.vue", 8)}),
        ("<p v-focus />", {("references", "App.vue:vFocus", 8)}),
        (
            '<p v-for="(row, i) in guests()">{{ row() }} {{ row.label() }}</p>',
            {("calls", "tools.ts:guests", 8), ("calls", "tools.ts:Guest.label", 8)},
        ),
        ('<p v-for="row of [1]" />\n<p>{{ row() }}</p>', {("calls", "tools.ts:row", 9)}),
        ('<Child v-slot="{ row }">{{ row() }}</Child>', {("references", "Child.vue", 8)}),
        ("<!-- <Child @x='save' /> -->", set()),
        ('<p title="save()">save()</p>', set()),
        ('<p :a="1 +">{{ broken</p>', set()),
    ],
)
def test_expressions_of_a_vue_template_are_uses(template: str, uses: set[tuple[str, str, int]]) -> None:
    program = _TOOLS | {
        "parts.ts": 'export { default as Child } from "./Child.vue";\n',
        "App.vue": f"{_VUE_HEAD}<template>\n{template}\n</template>\n",
    }
    assert uses_of(program, "App.vue") == uses


def test_a_kebab_case_tag_is_the_component_of_that_name() -> None:
    program = {
        "SideBar.vue": "<template><p/></template>\n",
        "App.vue": (
            '<template>\n<side-bar/>\n</template>\n<script setup>\nimport SideBar from "./SideBar.vue";\n</script>\n'
        ),
    }
    assert uses_of(program, "App.vue") == {("references", "SideBar.vue", 2)}


@pytest.mark.parametrize(
    "head", ["export default {", "export default defineComponent({", "export default Vue.extend({"]
)
def test_a_vue_template_uses_the_members_of_the_exported_object(head: str) -> None:
    program = {
        "App.vue": (
            '<template>\n<p @click="open" @x="start()" />\n</template>\n'
            f"<script>\n{head}\n"
            "  methods: { open() { this.close(); }, close() {} },\n"
            "  setup() { function start() {} return { start }; },\n"
            f"}}{')' if '(' in head else ''};\n</script>\n"
        )
    }
    assert triples(program, "calls") == {
        ("App.vue", "calls", "App.vue:default.open"),
        ("App.vue:default.open", "calls", "App.vue:default.close"),
        ("App.vue:default.setup", "calls", "App.vue:default.setup.start"),
    }


@pytest.mark.parametrize(
    ("template", "uses"),
    [
        ("{trim('a')}", {("calls", "tools.ts:trim", 9)}),
        ("{`${trim('}')}`} {row()}", {("calls", "tools.ts:trim", 9), ("calls", "tools.ts:row", 9)}),
        ("<p on:click={save} />", {("calls", "tools.ts:save", 9), ("references", "tools.ts:save", 9)}),
        ("<p onclick={save} />", {("calls", "tools.ts:save", 9), ("references", "tools.ts:save", 9)}),
        ("<p onclick={() => save()} />", {("calls", "tools.ts:save", 9)}),
        ('<p title="a {trim(1)} b" {...row()} />', {("calls", "tools.ts:trim", 9), ("calls", "tools.ts:row", 9)}),
        ("<p use:save />", {("calls", "tools.ts:save", 9), ("references", "tools.ts:save", 9)}),
        ("<Badge text={trim(1)} />", {("references", "Badge.svelte", 9), ("calls", "tools.ts:trim", 9)}),
        ("<Parts.Badge />", {("references", "Badge.svelte", 9)}),
        ("{$counter}", {("references", "tools.ts:counter", 9)}),
        ("{#if row()}\n{trim(1)}\n{/if}", {("calls", "tools.ts:row", 9), ("calls", "tools.ts:trim", 10)}),
        (
            "{#each guests() as row, i (row.label())}\n{row()}\n{:else}\n{row()}\n{/each}",
            {("calls", "tools.ts:guests", 9), ("calls", "tools.ts:Guest.label", 9), ("calls", "tools.ts:row", 12)},
        ),
        ("{#await save() then row}{row()}{/await}", {("calls", "tools.ts:save", 9)}),
        ("{#snippet trim(row)}{row()}{/snippet}{@render trim(1)}", set()),
        ("{@html trim(1)}{@const row = 1}", {("calls", "tools.ts:trim", 9)}),
        ("<Badge let:row>{row()}</Badge>\n{row()}", {("references", "Badge.svelte", 9), ("calls", "tools.ts:row", 10)}),
        ("{unclosed\n<p>{trim(1)}</p>", {("calls", "tools.ts:trim", 10)}),
    ],
)
def test_expressions_of_a_svelte_template_are_uses(template: str, uses: set[tuple[str, str, int]]) -> None:
    program = _TOOLS | {
        "parts.ts": 'import Badge from "./Badge.svelte";\nexport { Badge };\n',
        "App.svelte": f"{_SVELTE_HEAD}{template}\n",
    }
    assert uses_of(program, "App.svelte") == uses


@pytest.mark.parametrize(
    ("template", "uses"),
    [
        ("<p>{trim('a')}</p>", {("calls", "tools.ts:trim", 5)}),
        ("<Frame title={trim(1)} {...save()} />", {
            ("references", "Frame.astro", 5), ("calls", "tools.ts:trim", 5), ("calls", "tools.ts:save", 5)
        }),
        ("{guests().map((guest) => <p>Don't {guest.label()}</p>)}", {
            ("calls", "tools.ts:guests", 5), ("calls", "tools.ts:Guest.label", 5)
        }),
        ("<a href={`/${trim(1)}`} title=`${save()}`>x</a>", {("calls", "tools.ts:trim", 5), ("calls", "tools.ts:save", 5)}),
    ],
)  # fmt: skip
def test_expressions_of_an_astro_template_are_uses(template: str, uses: set[tuple[str, str, int]]) -> None:
    assert uses_of(_TOOLS | {"page.astro": f"{_ASTRO_HEAD}{template}\n"}, "page.astro") == uses


@pytest.mark.parametrize("extension", ["ts", "js"])
def test_a_component_is_a_value_in_other_files(extension: str) -> None:
    index = f"index.{extension}"
    program = _TOOLS | {
        index: 'export { default as Badge } from "./Badge.svelte";\nexport { default } from "./Child.vue";\n',
        "main.ts": 'import Child, { Badge } from ".";\nexport function main() { mount(Badge); createApp(Child); }\n',
    }
    assert {edge for edge in triples(program, "references") if edge[0] == "main.ts:main"} == {
        ("main.ts:main", "references", "Badge.svelte"),
        ("main.ts:main", "references", "Child.vue"),
    }
    assert {edge for edge in triples(program, "imports") if edge[0] == "main.ts"} == {
        ("main.ts", "imports", index),
        ("main.ts", "imports", "Badge.svelte"),
        ("main.ts", "imports", "Child.vue"),
    }


@pytest.mark.parametrize("path", ["tools.ts", "App.vue", "Child.vue"])
def test_update_links_templates_like_a_full_build(path: str) -> None:
    before = _TOOLS | {"App.vue": f'{_VUE_HEAD}<template>\n<Child :a="trim(1)" @x="save" />\n</template>\n'}
    after = before | {path: before[path].replace("save", "saved")} if path != "Child.vue" else dict(before)
    if path == "Child.vue":
        del after[path]
    assert_same_graph(build(after, build(before), before), build(after))


@pytest.mark.parametrize("text", ["{" * 30_000, "{{" * 30_000, "<p " * 30_000, "<template" * 30_000, "{#each " * 5_000])
@pytest.mark.parametrize("extension", ["vue", "svelte", "astro"])
def test_malformed_templates_take_little_time(text: str, extension: str) -> None:
    assert triples({f"App.{extension}": f"<template>\n{text}\n"}) == set()
