// List what every call of a TypeScript repository reaches, as the compiler's own checker resolves it.
//
//     node typescript_calls.mjs FOLDER_OF_THE_PACKAGE_TYPESCRIPT REPOSITORY > calls.json
//
// Each `tsconfig.json` of the repository makes one program; sources that none of them names are checked with the options of the
// first. Aliases are followed. An overloaded function is one target with several places; a call through an interface reaches the
// interface's member. Parameters and destructured values are no declarations.

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

const [packageFolder, repository] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(resolve(packageFolder));
const root = realpathSync(repository);
const SOURCE = /(?<!\.d)\.(ts|tsx|mts|cts)$/;
const SKIPPED = new Set(["node_modules", ".git", ".coderag"]);

/** Return the files below a folder whose path a test accepts. */
function files(folder, accepts) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : files(path, accepts);
    return entry.isFile() && accepts(path) ? [path] : [];
  });
}

const inRepository = (file) => file.startsWith(root + sep) && !file.includes(`${sep}node_modules${sep}`);

/** Return a declaration as [path, line of its name from 1, name]; null outside the repository and without a name. */
function place(declaration) {
  const file = declaration.getSourceFile();
  const path = resolve(file.fileName);
  const name = declaration.name ?? ts.getNameOfDeclaration(declaration);
  if (!inRepository(path) || file.isDeclarationFile || !name || !ts.isMemberName(name)) return null;
  const line = file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1;
  return [relative(root, path).split(sep).join("/"), line, name.text];
}

/** Tell whether a node calls something; a decorator with arguments does so by its call expression. */
function calls(node) {
  if (ts.isDecorator(node)) return !ts.isCallExpression(node.expression);
  const forms = [ts.isCallExpression, ts.isNewExpression, ts.isTaggedTemplateExpression, ts.isJsxOpeningLikeElement];
  return forms.some((is) => is(node));
}

/** Return the called name of a call, or nothing for what is called otherwise, as in `f()()`. */
function calledName(node) {
  let called = node.expression ?? node.tag ?? node.tagName;
  while (ts.isParenthesizedExpression(called) || ts.isNonNullExpression(called)) called = called.expression;
  if (ts.isPropertyAccessExpression(called)) return called.name;
  return ts.isIdentifier(called) || called.kind === ts.SyntaxKind.SuperKeyword ? called : undefined;
}

const isFunctionLike = (node) => node && (ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isClassExpression(node));
const isNoDeclaration = (node) => ts.isParameter(node) || ts.isBindingElement(node) || ts.isCatchClause(node.parent ?? node);

/** Tell whether a declaration is a function or class, and not a variable or property that holds one. */
function declaresCallable(node) {
  const holds = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node);
  return holds ? isFunctionLike(node.initializer) : !ts.isPropertySignature(node) && !ts.isShorthandPropertyAssignment(node);
}

function kindOf(node, declaration) {
  if (ts.isJsxOpeningLikeElement(node)) return "jsx";
  if (ts.isDecorator(node)) return "decorator";
  if (ts.isTaggedTemplateExpression(node)) return "tag";
  if (!declaresCallable(declaration)) return "value";
  return ts.isNewExpression(node) ? "new" : "call";
}

/** Return the declarations that a name stands for; nothing if the checker does not know. */
function declarationsOf(checker, name) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declarations = symbol?.declarations ?? [];
  // A constructor is answered for `super`, and stands for its class.
  return declarations.map((each) => (ts.isConstructorDeclaration(each) ? each.parent : each));
}

/** Return what a call of a declaration reaches: of a variable or property that holds a named function, that function. */
function target(checker, node, declaration, found) {
  const kind = kindOf(node, declaration);
  const held = kind === "value" ? checker.getResolvedSignature(node)?.declaration : undefined;
  const named = held && (ts.isFunctionDeclaration(held) || ts.isMethodDeclaration(held)) ? place(held) : null;
  if (named) return { place: named, kind: "call", also: [found] };
  return { place: found, kind, also: constructors(declaration) };
}

/** Return one call as a site, see `truth.py`. */
function site(checker, file, node, name) {
  const groups = new Map(); // the overloads of a function have one parent, the members of a union several
  let outside = false;
  let held = false;
  for (const declaration of declarationsOf(checker, name)) {
    const found = place(declaration);
    if (isNoDeclaration(declaration)) held = true;
    else if (found === null) outside = true;
    else if (groups.has(declaration.parent)) groups.get(declaration.parent).also.push(found);
    else groups.set(declaration.parent, target(checker, node, declaration, found));
  }
  const line = file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1;
  return { path: relative(root, file.fileName).split(sep).join("/"), line, name: name.text ?? "super", targets: [...groups.values()], outside, held };
}

/** Return the constructors of a class as places. */
function constructors(declaration) {
  if (!ts.isClassLike(declaration)) return [];
  const [path] = place(declaration);
  const file = declaration.getSourceFile();
  return declaration.members
    .filter(ts.isConstructorDeclaration)
    .map((member) => [path, file.getLineAndCharacterOfPosition(member.getStart(file)).line + 1, "constructor"]);
}

/** Return a class or interface with its bases in the repository; nothing if the checker does not know them all. */
function hierarchyOf(checker, node) {
  const declaration = place(node);
  if (declaration === null) return [];
  const names = (node.heritageClauses ?? []).flatMap((clause) => clause.types.map((type) => calledName(type)));
  const found = names.map((name) => (name ? declarationsOf(checker, name) : []));
  if (found.some((declarations) => declarations.length === 0)) return []; // an unknown base
  return [{ declaration, bases: found.flat().map(place).filter(Boolean) }];
}

const sites = [];
const hierarchy = [];
const notes = { "calls of no name": 0, "files with no tsconfig.json": 0 };
const done = new Set();
const covered = [];

function read(fileNames, options) {
  const program = ts.createProgram(fileNames, { ...options, noEmit: true, traceResolution: false });
  const checker = program.getTypeChecker();
  for (const file of program.getSourceFiles()) {
    const path = resolve(file.fileName);
    if (done.has(path) || !inRepository(path) || !SOURCE.test(path)) continue;
    done.add(path);
    covered.push(relative(root, path).split(sep).join("/"));
    const visit = (node) => {
      if (calls(node)) {
        const name = calledName(node);
        if (name) sites.push(site(checker, file, node, name));
        else notes["calls of no name"] += 1;
      }
      if (ts.isClassLike(node) || ts.isInterfaceDeclaration(node)) hierarchy.push(...hierarchyOf(checker, node));
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
}

let fallback = { target: ts.ScriptTarget.ESNext, moduleResolution: ts.ModuleResolutionKind.Node10 };
const configurations = files(root, (path) => path.endsWith(`${sep}tsconfig.json`)).sort((a, b) => a.length - b.length);
for (const [index, configuration] of configurations.entries()) {
  const { config, error } = ts.readConfigFile(configuration, (path) => readFileSync(path, "utf8"));
  if (error) continue;
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, dirname(configuration));
  if (index === 0) fallback = parsed.options;
  if (parsed.fileNames.length) read(parsed.fileNames, parsed.options);
}
const left = files(root, (path) => SOURCE.test(path) && !done.has(path));
notes["files with no tsconfig.json"] = left.length;
if (left.length) read(left, fallback);

process.stdout.write(JSON.stringify({ format: 1, tool: `typescript ${ts.version}`, sites, hierarchy, notes, files: covered }));
