/** Parsing of Markdown, and of what CodeRAG's answers have in it: places and citations. */

import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTable } from "micromark-extension-gfm-table";

export interface Place {
  path: string;
  startLine: number;
  endLine: number;
}

const PLACE = /^(.+?):(\d{1,9})(?:-(\d{1,9}))?$/;
const CITATION = /\[(\d{1,3})\]/;

export function parseMarkdown(text: string): Root {
  return fromMarkdown(text, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });
}

/** Parse a place such as `src/a.py:10-42`; null if the text is none. */
export function parsePlace(text: string): Place | null {
  const match = PLACE.exec(text);
  if (!match?.[1] || match[1].includes("://")) return null;
  const startLine = Number(match[2]);
  return { path: match[1], startLine, endLine: Number(match[3] ?? startLine) };
}

/** Split a text into parts and the numbers of its citations, such as `[2]`, up to `count`. */
export function splitCitations(text: string, count: number): (string | number)[] {
  if (!count) return [text];
  return text
    .split(CITATION)
    .map((part, index) => {
      if (index % 2 === 0) return part;
      const number = Number(part);
      return number >= 1 && number <= count ? number : `[${part}]`;
    })
    .filter((part) => part !== "");
}
