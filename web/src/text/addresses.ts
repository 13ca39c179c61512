/** Addresses of views that several pages link to. */

import { router } from "../state/router.svelte";

/** Build the address of a file in the code browser, at a line or a range of lines. */
export function buildCodeAddress(path: string, startLine?: number, endLine?: number): string {
  const line = startLine && endLine && endLine > startLine ? `${startLine}-${endLine}` : startLine;
  return router.build("code", path, { line });
}

/** Build the address of the review of a change: from one revision to another, or to the working tree. */
export function buildChangesAddress(from: string, to: string): string {
  return router.build("changes", "", { from, to });
}

/** Build the address of a search. */
export function buildSearchAddress(query: string): string {
  return router.build("search", "", { q: query });
}

/** Build the address of a declaration in the graph. */
export function buildGraphAddress(name: string): string {
  return router.build("graph", "", { name });
}
