/** Choice of chunks, as the address has it and as the service takes it. */

export interface FacetKind {
  /** Name of the facet in a reply. */
  field: string;
  /** Its parameter in the address. */
  parameter: string;
  title: string;
  /** Names of values for people. */
  names?: Record<string, string>;
}

export const FACETS: readonly FacetKind[] = [
  { field: "kind", parameter: "kind", title: "Kind" },
  { field: "language", parameter: "language", title: "Language" },
  { field: "role", parameter: "role", title: "Role" },
  { field: "complexity", parameter: "complexity", title: "Complexity", names: { "0": "0 (no code)" } },
  {
    field: "summary_source",
    parameter: "summary",
    title: "Summary",
    names: { docstring: "from the docstring", derived: "derived from the code", llm: "by a language model", none: "none" },
  },
];

export const ORDERS = [
  { value: "path", title: "by place" },
  { value: "complexity", title: "most complex first" },
  { value: "lines", title: "longest first" },
];

/** Value of the address that stands for an empty one. */
export const NO_VALUE = "none";

export function readChunkQuery(query: URLSearchParams) {
  const read = (name: string) => (query.get(name) ?? "").split(",").filter(Boolean);
  const order = query.get("order") ?? "path";
  return {
    kinds: read("kind"),
    languages: read("language"),
    roles: read("role"),
    complexities: read("complexity"),
    summary_sources: read("summary").map((value) => (value === NO_VALUE ? "" : value)),
    name: query.get("part") ?? "",
    order: ORDERS.some(({ value }) => value === order) ? order : "path",
  };
}
