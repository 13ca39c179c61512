// List the declarations and imports of a TypeScript repository, as the compiler parses and resolves them.
//
//     node typescript_outline.mjs FOLDER_OF_THE_PACKAGE_TYPESCRIPT REPOSITORY > outline.json

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

const [packageFolder, repository] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(resolve(packageFolder));
const root = realpathSync(repository);
const SOURCE = /(?<!\.d)\.(ts|tsx|mts|cts)$/;
const SKIPPED = new Set(["node_modules", ".git", ".coderag"]);

const slashed = (file) => relative(root, file).split(sep).join("/");

/** Return the sources below a folder. */
function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sources(path);
    return entry.isFile() && SOURCE.test(path) ? [path] : [];
  });
}

const isFunction = (node) => node && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));
const isType = (node) => ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node);

/** Return `class`, `function` or, for a member that is neither, `field`; nothing for what neither calls nor types reach. */
function kindOf(node) {
  if (isType(node)) return "class";
  const holds = (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) && isFunction(node.initializer);
  if (holds || (ts.isFunctionLike(node) && node.name && !isFunction(node))) return "function";
  return ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) ? "field" : undefined;
}

/** Return the node whose lines are those of a declaration: the whole statement of a variable. */
const whole = (node) => (ts.isVariableDeclaration(node) && ts.isVariableStatement(node.parent.parent) ? node.parent.parent : node);

const declarations = [];
const imports = [];

/** Note the declarations below a node. */
function visit(node, file, owner, local) {
  const kind = kindOf(node);
  let inner = owner;
  if (kind && node.name && (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name))) {
    inner = owner ? `${owner}.${node.name.text}` : node.name.text;
    const line = (position) => file.getLineAndCharacterOfPosition(position).line + 1;
    const [first, last] = [line(whole(node).getStart(file, true)), line(whole(node).end)];
    declarations.push([slashed(file.fileName), inner, kind, line(node.name.getStart(file)), first, last, local]);
  }
  const isLocal = local || (ts.isFunctionLike(node) && !ts.isMethodSignature(node));
  ts.forEachChild(node, (child) => visit(child, file, inner, isLocal));
}

const options = new Map();

/** Return the compiler's options for a file: those of the nearest tsconfig.json. */
function optionsOf(file) {
  const found = ts.findConfigFile(dirname(file), ts.sys.fileExists);
  if (!found || !resolve(found).startsWith(root)) return {};
  if (!options.has(found)) {
    const read = ts.readConfigFile(found, ts.sys.readFile);
    options.set(found, ts.parseJsonConfigFileContent(read.config ?? {}, { ...ts.sys, readDirectory: () => [] }, dirname(found)).options);
  }
  return options.get(found);
}

for (const path of sources(root).sort()) {
  const text = readFileSync(path, "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  visit(file, file, "", false);
  for (const reference of ts.preProcessFile(text, true, false).importedFiles) {
    const found = ts.resolveModuleName(reference.fileName, path, optionsOf(path), ts.sys).resolvedModule?.resolvedFileName;
    if (!found || !resolve(found).startsWith(root + sep) || found.includes("/node_modules/") || resolve(found) === path) continue;
    imports.push([slashed(path), file.getLineAndCharacterOfPosition(reference.pos).line + 1, slashed(resolve(found))]);
  }
}

process.stdout.write(JSON.stringify({ declarations, imports }));
