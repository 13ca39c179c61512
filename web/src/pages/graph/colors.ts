/** Colours of nodes and edges, from the style sheet. */

import { readColor } from "../../state/theme.svelte";
import { mainRelation, type Relation, type ViewEdge, type ViewNode } from "./model";

const FUNCTIONS = new Set(["function", "method", "macro"]);
const TYPES = new Set(["class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "table"]);

export const NODE_GROUPS = [
  { name: "folder", title: "folder", color: "--series-7" },
  { name: "file", title: "file", color: "--series-1" },
  { name: "type", title: "type", color: "--series-4" },
  { name: "function", title: "function", color: "--series-3" },
  { name: "other", title: "other declaration", color: "--series-6" },
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

  ofNode(node: ViewNode): string {
    return this.#groups.get(findGroup(node)) ?? this.muted;
  }

  ofEdge(edge: ViewEdge): string {
    return this.#relations.get(mainRelation(edge)) ?? this.muted;
  }
}
