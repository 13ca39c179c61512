// List the targets of every call of a TypeScript repository, as resolved by the compiler's checker.
//
//     node typescript_calls.mjs TYPESCRIPT_PACKAGE_FOLDER REPOSITORY > calls.json
//
// Each `tsconfig.json` of the repository makes one program; sources without one are checked with the options of the first.
// Aliases are followed. An overloaded function is one target with several places; a call through an interface reaches the
// interface's member. Parameters and destructured values do not count as declarations.

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

const [packageFolder, repository] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(resolve(packageFolder));
const root = realpathSync(repository);
const SOURCE = /(?<!\.d)\.(ts|tsx|mts|cts)$/;
const SKIPPED = new Set(["node_modules", ".git", ".coderag"]);
const FUNCTION_TYPES = new Set(["Function", "CallableFunction", "NewableFunction"]); // of the compiler's own library

/** Return the files below a folder with an accepted path. */
function files(folder, accepts) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : files(path, accepts);
    return entry.isFile() && accepts(path) ? [path] : [];
  });
}

const inRepository = (file) => file.startsWith(root + sep) && !file.includes(`${sep}node_modules${sep}`);

/** Return a declaration as [path, line of its name from 1, name]; null outside the repository and without a name. */
function toPlace(declaration) {
  const file = declaration.getSourceFile();
  const path = resolve(file.fileName);
  const name = declaration.name ?? ts.getNameOfDeclaration(declaration);
  if (!inRepository(path) || file.isDeclarationFile || !name || !ts.isMemberName(name)) return null;
  const line = file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1;
  return [relative(root, path).split(sep).join("/"), line, name.text];
}

/** Return whether a node is a call; of a decorator with arguments only its call expression counts. */
function isCall(node) {
  if (ts.isDecorator(node)) return !ts.isCallExpression(node.expression);
  const forms = [ts.isCallExpression, ts.isNewExpression, ts.isTaggedTemplateExpression, ts.isJsxOpeningLikeElement];
  return forms.some((is) => is(node));
}

/** Return the called name, `run` for `run.call(this)` and `x["run"]()`; undefined for a call without a name, such as `f()()`. */
function getCalledName(checker, node) {
  let callee = node.expression ?? node.tag ?? node.tagName;
  while (isWrapper(callee) || isFunctionMethod(checker, callee)) callee = callee.expression;
  if (ts.isPropertyAccessExpression(callee)) return callee.name;
  if (ts.isElementAccessExpression(callee) && ts.isStringLiteralLike(callee.argumentExpression)) return callee.argumentExpression;
  return ts.isIdentifier(callee) || callee.kind === ts.SyntaxKind.SuperKeyword ? callee : undefined;
}

const isWrapper = (node) => ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node);

/** Return whether an expression is `call` or `apply` of a function, which calls that function. */
function isFunctionMethod(checker, node) {
  if (!ts.isPropertyAccessExpression(node) || !["call", "apply"].includes(node.name.text)) return false;
  const declarations = checker.getSymbolAtLocation(node.name)?.declarations ?? [];
  return declarations.length > 0 && declarations.every((declaration) => FUNCTION_TYPES.has(declaration.parent.name?.text));
}

const isFunctionLike = (node) => node && (ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isClassExpression(node));
const isUncountedDeclaration = (node) => ts.isParameter(node) || ts.isBindingElement(node) || ts.isCatchClause(node.parent ?? node);

/** Return whether a declaration is a function or class itself, not a variable or property with such a value. */
function isCallableDeclaration(node) {
  const isHolder = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node);
  return isHolder ? isFunctionLike(node.initializer) : !ts.isPropertySignature(node) && !ts.isShorthandPropertyAssignment(node);
}

function getKind(node, declaration) {
  if (ts.isJsxOpeningLikeElement(node)) return "jsx";
  if (ts.isDecorator(node)) return "decorator";
  if (ts.isTaggedTemplateExpression(node)) return "tag";
  if (!isCallableDeclaration(declaration)) return "value";
  return ts.isNewExpression(node) ? "new" : "call";
}

/** Return the declarations of a name; none if the checker does not know them. */
function findDeclarations(checker, name) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declarations = symbol?.declarations ?? [];
  // The checker returns a constructor for `super`; it stands for its class.
  return declarations.map((node) => (ts.isConstructorDeclaration(node) ? node.parent : node));
}

/** Return the target of a call; for a variable or property with a named function as its value, that function. */
function buildTarget(checker, node, declaration, declared) {
  const kind = getKind(node, declaration);
  const held = kind === "value" ? checker.getResolvedSignature(node)?.declaration : undefined;
  const heldPlace = held && (ts.isFunctionDeclaration(held) || ts.isMethodDeclaration(held)) ? toPlace(held) : null;
  if (heldPlace) return { place: heldPlace, kind: "call", also: [declared] };
  return { place: declared, kind, also: findConstructors(declaration) };
}

/** Return a call site, see `ground_truth.py`. */
function buildSite(checker, file, node, name) {
  const groups = new Map(); // overloads of a function share one parent, members of a union do not
  let outside = false;
  let held = false;
  for (const declaration of findDeclarations(checker, name)) {
    const declared = toPlace(declaration);
    if (isUncountedDeclaration(declaration)) held = true;
    else if (declared === null) outside = true;
    else if (groups.has(declaration.parent)) groups.get(declaration.parent).also.push(declared);
    else groups.set(declaration.parent, buildTarget(checker, node, declaration, declared));
  }
  const line = file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1;
  return { path: relative(root, file.fileName).split(sep).join("/"), line, name: name.text ?? "super", targets: [...groups.values()], outside, held };
}

/** Return the constructors of a class as places. */
function findConstructors(declaration) {
  if (!ts.isClassLike(declaration)) return [];
  const [path] = toPlace(declaration);
  const file = declaration.getSourceFile();
  return declaration.members
    .filter(ts.isConstructorDeclaration)
    .map((member) => [path, file.getLineAndCharacterOfPosition(member.getStart(file)).line + 1, "constructor"]);
}

/** Return a class or interface with its bases in the repository; nothing if a base is unknown. */
function buildHierarchy(checker, node) {
  const declaration = toPlace(node);
  if (declaration === null) return [];
  const names = (node.heritageClauses ?? []).flatMap((clause) => clause.types.map((type) => getCalledName(checker, type)));
  const baseDeclarations = names.map((name) => (name ? findDeclarations(checker, name) : []));
  if (baseDeclarations.some((declarations) => declarations.length === 0)) return [];
  return [{ declaration, bases: baseDeclarations.flat().map(toPlace).filter(Boolean) }];
}

const sites = [];
const hierarchy = [];
const notes = { "calls of no name": 0, "files with no tsconfig.json": 0 };
const visited = new Set();
const coveredFiles = [];

function readProgram(fileNames, options) {
  const program = ts.createProgram(fileNames, { ...options, noEmit: true, traceResolution: false });
  const checker = program.getTypeChecker();
  for (const file of program.getSourceFiles()) {
    const path = resolve(file.fileName);
    if (visited.has(path) || !inRepository(path) || !SOURCE.test(path)) continue;
    visited.add(path);
    coveredFiles.push(relative(root, path).split(sep).join("/"));
    const visit = (node) => {
      if (isCall(node)) {
        const name = getCalledName(checker, node);
        if (name) sites.push(buildSite(checker, file, node, name));
        else notes["calls of no name"] += 1;
      }
      if (ts.isClassLike(node) || ts.isInterfaceDeclaration(node)) hierarchy.push(...buildHierarchy(checker, node));
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
  if (parsed.fileNames.length) readProgram(parsed.fileNames, parsed.options);
}
const unconfigured = files(root, (path) => SOURCE.test(path) && !visited.has(path));
notes["files with no tsconfig.json"] = unconfigured.length;
if (unconfigured.length) readProgram(unconfigured, fallback);

process.stdout.write(JSON.stringify({ format: 1, tool: `typescript ${ts.version}`, sites, hierarchy, notes, files: coveredFiles }));
