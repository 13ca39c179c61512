/** Colours of nodes and edges, from the style sheet. */

import { readColor } from "../../state/theme.svelte";
import { mainRelation, type Relation, type ViewEdge, type ViewNode } from "./model";

const FUNCTIONS = new Set(["function", "method", "macro"]);
const TYPES = new Set(["class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "table"]);

export const NODE_GROUPS = [
  { name: "folder", title: "folder", color: "--series-1" },
  { name: "file", title: "file", color: "--series-6" },
  { name: "type", title: "type", color: "--series-4" },
  { name: "function", title: "function", color: "--series-3" },
  { name: "other", title: "other declaration", color: "--series-2" },
  { name: "test", title: "test code", color: "--series-8" },
  { name: "external", title: "outside package", color: "--muted" },
] as const;
export type NodeGroup = (typeof NODE_GROUPS)[number]["name"];

const RELATION_COLORS: Record<Relation, string> = {
  calls: "--series-1",
  imports: "--series-2",
  inherits: "--series-4",
  implements: "--series-4",
  overrides: "--series-4",
  instantiates: "--series-6",
  references: "--muted",
  tests: "--series-8",
  documents: "--series-7",
  contains: "--border",
};

export function findGroup(node: ViewNode): NodeGroup {
  if (node.kind === "external") return "external";
  if (node.role === "test") return "test";
  if (node.kind === "folder" || node.kind === "file") return node.kind;
  if (FUNCTIONS.has(node.kind)) return "function";
  return TYPES.has(node.kind) ? "type" : "other";
}

export function relationVariable(relation: Relation): string {
  return RELATION_COLORS[relation];
}

/** Colours of one theme; read anew when it changes. */
export class Palette {
  readonly text = readColor("--text");
  readonly muted = readColor("--muted");
  readonly background = readColor("--background");
  readonly surface = readColor("--surface");
  readonly border = readColor("--border");
  readonly accent = readColor("--accent");
  #groups = new Map(NODE_GROUPS.map(({ name, color }) => [name, readColor(color)]));
  #relations = new Map(Object.entries(RELATION_COLORS).map(([name, color]) => [name, readColor(color)]));

  /** Return the colour of a node; a soft one for large areas. */
  ofNode(node: ViewNode, isSoft = false): string {
    const color = this.#groups.get(findGroup(node)) ?? this.muted;
    return isSoft ? mix(color, this.background) : color;
  }

  ofEdge(edge: ViewEdge): string {
    return this.#relations.get(mainRelation(edge)) ?? this.muted;
  }
}

const SOFT_SHARE = 0.3;

/** Mix two colours given as `#rrggbb` or `#rgb`. */
function mix(first: string, second: string): string {
  const channel = (color: string, index: number) => {
    const digits = color.length === 4 ? (color[1 + index] ?? "").repeat(2) : color.slice(1 + 2 * index, 3 + 2 * index);
    return Number.parseInt(digits, 16);
  };
  const channels = [0, 1, 2].map((index) => Math.round(channel(first, index) * (1 - SOFT_SHARE) + channel(second, index) * SOFT_SHARE));
  return channels.some(Number.isNaN) ? first : `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
