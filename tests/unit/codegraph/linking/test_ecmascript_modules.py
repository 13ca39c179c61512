"""Module resolution of JavaScript and TypeScript."""

import pytest

from tests.support.programs import Program, triples

_TSCONFIG = {
    "tsconfig.json": '{"compilerOptions": {"baseUrl": "./src", "paths": {"~/*": ["lib/*"], "~/exact": ["other"]}}}'
}


@pytest.mark.parametrize(
    ("importing", "name", "files", "expected"),
    [
        ("a.ts", "./b", {"b.ts": "", "b.js": ""}, "b.ts"),
        ("a.ts", "./b.js", {"b.ts": ""}, "b.ts"),
        ("a.ts", "./b.mjs", {"b.mts": ""}, "b.mts"),
        ("a.ts", "./b", {"b/index.tsx": ""}, "b/index.tsx"),
        ("a.ts", "./b", {"b.js": "", "b.d.ts": ""}, "b.js"),
        ("a.ts", "./b.component", {"b.component.ts": ""}, "b.component.ts"),
        ("x/a.ts", "..", {"index.ts": ""}, "index.ts"),
        ("x/a.ts", ".", {"x/index.js": ""}, "x/index.js"),
        ("a.js", "./b", {"b/package.json": '{"version": "1", "main": "lib/c.js"}', "b/lib/c.js": ""}, "b/lib/c.js"),
        ("a.ts", "../../b", {"b.ts": ""}, None),
        ("a.ts", "~/b", {**_TSCONFIG, "src/lib/b.ts": ""}, "src/lib/b.ts"),
        ("a.ts", "~/exact", {**_TSCONFIG, "src/other.ts": "", "src/lib/exact.ts": ""}, "src/other.ts"),
        ("a.ts", "plain/b", {**_TSCONFIG, "src/plain/b.ts": ""}, "src/plain/b.ts"),
        (
            "app/src/a.ts",
            "@/b",
            {
                "app/tsconfig.json": '{"extends": "../base"}',
                "base.json": '{"compilerOptions": {"paths": {"@/*": ["./shared/*"]}}}',
                "shared/b.ts": "",
            },
            "shared/b.ts",
        ),
        (
            "app/src/a.ts",
            "@/b",
            {
                "app/tsconfig.json": '{"extends": "../shared/base.json"}',
                "shared/base.json": '{"extends": "../root.json"}',
                "root.json": '{"compilerOptions": {"paths": {"@/*": ["${configDir}/src/*"]}}}',
                "app/src/b.ts": "",
                "src/b.ts": "",
            },
            "app/src/b.ts",
        ),
        (
            "app/src/a.ts",
            "inner/b",
            {
                "app/tsconfig.json": '{"extends": "@org/settings/base"}',
                "settings/package.json": '{"name": "@org/settings", "exports": {"./base": "./configs/base.json"}}',
                "settings/configs/base.json": '{"compilerOptions": {"baseUrl": "${configDir}/src"}}',
                "app/src/inner/b.ts": "",
            },
            "app/src/inner/b.ts",
        ),
        (
            "app/src/routes/a.ts",
            "$lib/b",
            {"app/tsconfig.json": '{"extends": "./.svelte-kit/tsconfig.json"}', "app/src/lib/b.ts": ""},
            "app/src/lib/b.ts",
        ),
        (
            "app/src/a.ts",
            "@/b",
            {
                "app/tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
                "app/tsconfig.app.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
                "app/src/b.ts": "",
            },
            "app/src/b.ts",
        ),
        (
            "a.ts",
            "@org/b",
            {"packages/b/package.json": '{"name": "@org/b", "version": "1"}', "packages/b/src/index.ts": ""},
            "packages/b/src/index.ts",
        ),
        (
            "a.ts",
            "@org/b",
            {
                "p/package.json": '{"name": "@org/b", "exports": {".": {"types": "./dist/x.d.ts", "import": "./dist/x.mjs"}}}',
                "p/src/x.ts": "",
            },
            "p/src/x.ts",
        ),
        (
            "a.ts",
            "@org/b/deep/c",
            {
                "p/package.json": '{"name": "@org/b", "exports": {"./deep/*": "./dist/inner/*.js"}}',
                "p/src/inner/c.ts": "",
            },
            "p/src/inner/c.ts",
        ),
        ("a.ts", "b/lib/c", {"p/package.json": '{"name": "b", "version": "1"}', "p/lib/c.js": ""}, "p/lib/c.js"),
        (
            "p/src/a.ts",
            "#inner/c",
            {"p/package.json": '{"name": "b", "imports": {"#inner/*": "./src/inner/*.ts"}}', "p/src/inner/c.ts": ""},
            "p/src/inner/c.ts",
        ),
        ("a.ts", "left-pad", {"left-pad.ts": ""}, None),
    ],
)
def test_modules_resolve_like_typescript_and_node(
    importing: str, name: str, files: Program, expected: str | None
) -> None:
    edges = triples({importing: f'import "{name}";\n', **files}, "imports")
    assert {target for source, _, target in edges if source == importing and target in files} == (
        {expected} if expected else set()
    )


def test_external_packages_are_nodes() -> None:
    program = {
        "a.ts": 'import { join } from "node:path/posix";\nimport x from "@org/lib/part";\nimport y from "lodash/get";\n'
    }
    assert triples(program, "imports") == {
        ("a.ts", "imports", "node:path"),
        ("a.ts", "imports", "@org/lib"),
        ("a.ts", "imports", "lodash"),
    }


@pytest.mark.parametrize("manifest", ['{"name": "@shop/settings"}', '{"name": "@shop/settings", "private": true}'])
def test_configuration_extends_one_of_a_workspace_package_without_a_version(manifest: str) -> None:
    program = {
        "tools/settings/package.json": manifest,
        "tools/settings/strict.json": '{"compilerOptions": {"paths": {"~/*": ["${configDir}/src/*"]}}}',
        "apps/till/tsconfig.json": '{"extends": "@shop/settings/strict.json"}',
        "apps/till/src/sum.ts": "export function sum() {}\n",
        "apps/till/src/pay.ts": "import { sum } from '~/sum';\nexport function pay() { sum(); }\n",
    }
    assert triples(program, "calls") == {("apps/till/src/pay.ts:pay", "calls", "apps/till/src/sum.ts:sum")}
