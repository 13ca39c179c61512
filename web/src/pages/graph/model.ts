/** What the graph page shows, as it stands in the address. */

import type { Schemas } from "../../api/client";

export type View = Schemas["GraphView"];
export type ViewNode = Schemas["ViewNode"];
export type ViewEdge = Schemas["ViewEdge"];
export type NodeDetails = Schemas["NodeDetails"];
export type Neighbour = Schemas["GraphNeighbour"];
export type Relation = Schemas["OverviewBody"]["relations"] extends (infer Item)[] | undefined ? Item : never;
export type Direction = "in" | "out" | "both";

export const MODES = [
  { name: "map", title: "Map", hint: "The whole repository: folders, files, declarations" },
  { name: "neighbours", title: "Neighbours", hint: "What uses a node, and what it uses" },
  { name: "path", title: "Path", hint: "How one declaration reaches another" },
  { name: "impact", title: "Impact", hint: "What a change may break" },
  { name: "cycles", title: "Cycles", hint: "What depends on itself" },
  { name: "hotspots", title: "Hotspots", hint: "What most depends on" },
] as const;
export type Mode = (typeof MODES)[number]["name"];

export const RELATIONS: Relation[] = [
  "calls", "imports", "inherits", "implements", "overrides", "instantiates", "references", "tests", "documents", "contains",
];

/** Meaning of a relation seen from a node, by direction. */
export const RELATION_TITLES: Record<Relation, { out: string; in: string }> = {
  calls: { out: "Calls", in: "Called by" },
  imports: { out: "Imports", in: "Imported by" },
  inherits: { out: "Extends", in: "Extended by" },
  implements: { out: "Implements", in: "Implemented by" },
  overrides: { out: "Overrides", in: "Overridden by" },
  instantiates: { out: "Creates", in: "Created by" },
  references: { out: "Refers to", in: "Referred to by" },
  tests: { out: "Tests", in: "Tested by" },
  documents: { out: "Documents", in: "Documented by" },
  contains: { out: "Contains", in: "Inside" },
};

/** Neighbours of a node that were asked for. */
export interface Step {
  key: string;
  direction: Direction;
  /** Empty for all relations of the filter. */
  relations: Relation[];
  limit: number;
}

export interface Filter {
  relations: Relation[];
  minConfidence: number;
  tests: boolean;
  external: boolean;
}

export const DEFAULT_CONFIDENCE = 0.5;
export const STEP_LIMIT = 12;
export const CALLS: Relation[] = ["calls", "instantiates"];

export function parseFilter(query: URLSearchParams): Filter {
  const names = query.get("rel");
  const confidence = Number(query.get("conf") ?? DEFAULT_CONFIDENCE);
  return {
    relations: names === null ? RELATIONS : RELATIONS.filter((relation) => names.split(",").includes(relation)),
    minConfidence: Number.isFinite(confidence) ? Math.min(1, Math.max(0, confidence)) : DEFAULT_CONFIDENCE,
    tests: query.get("tests") !== "0",
    external: query.get("ext") === "1",
  };
}

export function parseMode(query: URLSearchParams): Mode {
  const name = query.get("mode");
  return MODES.find((mode) => mode.name === name)?.name ?? (query.get("name") ? "neighbours" : "map");
}

export function parseKeys(text: string | null): string[] | null {
  return text === null ? null : text.split(",").filter(Boolean).map(decodeKey);
}

export function formatKeys(keys: readonly string[]): string {
  return keys.map(encodeURIComponent).join(",");
}

export function parseSteps(text: string | null): Step[] {
  return (text ?? "").split(",").filter(Boolean).map((part) => {
    const [key = "", direction = "both", relations = "", limit = ""] = part.split("~");
    return {
      key: decodeKey(key),
      direction: direction === "in" || direction === "out" ? direction : "both",
      relations: RELATIONS.filter((relation) => relations.split(".").includes(relation)),
      limit: Math.min(500, Math.max(1, Number(limit) || STEP_LIMIT)),
    };
  });
}

export function formatSteps(steps: readonly Step[]): string {
  return steps.map(({ key, direction, relations, limit }) =>
    [encodeURIComponent(key).replaceAll("~", "%7E"), direction, relations.join("."), limit].join("~")).join(",");
}

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the key of a result of the code graph. */
export function toKey({ path, kind, qualified_name, start_line }: Pick<Neighbour, "path" | "kind" | "qualified_name" | "start_line">): string {
  if (!path) return `::${qualified_name}`;
  return kind === "file" ? path : `${path}::${qualified_name}@${start_line}`;
}

/** Return the name of a node for queries of the code graph. */
export function toName(node: ViewNode): string {
  if (node.kind === "external") return node.label;
  return node.key.includes("#") && node.kind !== "file" && node.kind !== "folder" ? `${node.path}:${node.start_line}` : node.key;
}

/** Return where a node is, for people. */
export function describePlace(node: ViewNode): string {
  if (node.kind === "external") return "outside the repository";
  return node.kind === "folder" || node.kind === "file" ? node.path : `${node.path}:${node.start_line}`;
}

/** Return the dominant relation of an edge. */
export function mainRelation(edge: ViewEdge): Relation {
  return (Object.keys(edge.relations)[0] ?? "references") as Relation;
}

export function describeEdge(edge: ViewEdge): string {
  return Object.entries(edge.relations).map(([relation, count]) => (count > 1 ? `${relation} ×${count}` : relation)).join(", ");
}
