/** Addresses of the code browser: a file, lines of it, a declaration to read, and the trail that led there. */

import { router } from "../../state/router.svelte";
import { buildCodeAddress } from "../../text/addresses";

export interface Lines {
  start: number;
  end: number;
}

const MAX_TRAIL = 30;

/** Parse `10` or `10-42`; null for anything else. */
export function parseLines(text: string | null): Lines | null {
  const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text ?? "");
  if (!match || match[1] === "0") return null;
  const start = Number(match[1]);
  return { start, end: Math.max(start, Number(match[2] ?? start)) };
}

export function formatLines({ start, end }: Lines): string {
  return end > start ? `${start}-${end}` : String(start);
}

/** Split `path:10-42` into the path and its lines. */
export function parsePlace(text: string): { path: string; lines: Lines | null } {
  const match = /^(.*?):(\d+(?:-\d+)?)(?::\d+)?$/.exec(text.trim());
  return { path: (match?.[1] ?? text.trim()).replace(/^\.?\/+/, ""), lines: parseLines(match?.[2] ?? null) };
}

export function buildFileAddress(path: string, lines?: Lines | null): string {
  return buildCodeAddress(path, lines?.start, lines?.end);
}

export function buildChunksAddress(path: string): string {
  return router.build("code", path, { view: "chunks" });
}

/** Build the address of the history of a path, or of a declaration in it. */
export function buildHistoryAddress(path: string, subject = ""): string {
  return router.build("code", path, { view: "history", of: subject });
}

/** Names of the declarations that were read before this one. */
export function readTrail(query: URLSearchParams): string[] {
  return (query.get("trail") ?? "").split(",").filter(Boolean).map(decode);
}

/** Build the address that shows a declaration between its callers and callees. */
export function buildReadingAddress(path: string, name: string, trail: readonly string[] = []): string {
  const steps = trail.slice(-MAX_TRAIL).map(encodeURIComponent).join(",");
  return router.build("code", path, { name, trail: steps, candidates: router.route.query.get("candidates") });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
