/** Where the uses of declarations stand in their lines, so that they can be links. */

import type { Schemas } from "../../api/client";
import type { LineLink } from "../../components/code/LineTokens.svelte";
import { buildFileAddress, buildReadingAddress } from "./places";

export type CodeLink = Schemas["CodeLink"];

const MAX_LINKED_CHARS = 2_000;

/** Find the text of each link in its line; return the links by line number, each line's in order. */
export function placeLinks(
  links: readonly CodeLink[],
  readLine: (line: number) => string,
  trail: readonly string[],
): Map<number, LineLink[]> {
  const placed = new Map<number, LineLink[]>();
  for (const link of links) {
    const address = buildTargetAddress(link, trail);
    if (!address) continue;
    const text = readLine(link.line).slice(0, MAX_LINKED_CHARS);
    const others = placed.get(link.line) ?? [];
    const span = findSpan(text, spellName(link), others);
    if (!span) continue;
    others.push({ ...span, address, title: describeLink(link) });
    placed.set(link.line, others);
  }
  for (const line of placed.values()) line.sort((first, second) => first.start - second.start);
  return placed;
}

/** Build the address of the other end of a link; empty for what is outside the repository. */
export function buildTargetAddress({ target }: CodeLink, trail: readonly string[]): string {
  if (!target.path) return "";
  return target.kind === "file" ? buildFileAddress(target.path) : buildReadingAddress(target.path, target.name, trail);
}

export function isCall(link: CodeLink): boolean {
  return link.relation === "calls" || link.relation === "instantiates";
}

function describeLink({ relation, target, confidence }: CodeLink): string {
  const doubt = confidence < 0.5 ? ", perhaps" : "";
  return `${relation}${doubt}: ${target.qualified_name}${target.path && target.kind !== "file" ? ` (${target.path}:${target.start_line})` : ""}`;
}

/** Return how code spells a declaration: a file is imported without its folder and extension. */
function spellName({ name, target }: CodeLink): string {
  const last = name.split("/").at(-1) ?? name;
  return target.kind === "file" ? last.replace(/\.[^.]*$/, "") : last;
}

function findSpan(text: string, name: string, taken: readonly LineLink[]): { start: number; end: number } | null {
  if (!name) return null;
  for (let start = text.indexOf(name); start >= 0; start = text.indexOf(name, start + 1)) {
    const end = start + name.length;
    const isWord = !isWordChar(text[start - 1]) && !isWordChar(text[end]);
    if (isWord && taken.every((span) => end <= span.start || start >= span.end)) return { start, end };
  }
  return null;
}

function isWordChar(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_$]/u.test(char);
}
