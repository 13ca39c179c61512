/** State of the page in its address: query, filters, view, and the settings of an experiment. */

import type { Schemas } from "../../api/client";

export type View = "results" | "explain" | "experiment" | "recorded" | "golden";
export type FilterBody = Schemas["FilterBody"];

export interface Filters {
  language: string[];
  kind: string[];
  role: string[];
  /** Globs and folders. */
  path: string[];
  minComplexity: number;
  /** No upper bound if 0. */
  maxComplexity: number;
  since: string;
}

/** Settings of the ranking, as the settings file has them. */
export interface Ranking {
  weights: Record<string, number>;
  disabled_signals: string[];
}

export const VIEWS: { name: View; title: string }[] = [
  { name: "results", title: "Results" },
  { name: "explain", title: "Explain" },
  { name: "experiment", title: "Experiment" },
  { name: "recorded", title: "Recorded queries" },
  { name: "golden", title: "Golden set" },
];

export function parseView(query: URLSearchParams, views = VIEWS): View {
  return views.find((view) => view.name === query.get("view"))?.name ?? "results";
}

export function parseFilters(query: URLSearchParams): Filters {
  return {
    language: splitList(query.get("language")),
    kind: splitList(query.get("kind")),
    role: splitList(query.get("role")),
    path: splitList(query.get("path")),
    minComplexity: parseCount(query.get("min")),
    maxComplexity: parseCount(query.get("max")),
    since: query.get("since") ?? "",
  };
}

/** Return the parameters of the address for filters; those that are not set are removed. */
export function formatFilters(filters: Filters): Record<string, string | null> {
  return {
    language: filters.language.join(",") || null,
    kind: filters.kind.join(",") || null,
    role: filters.role.join(",") || null,
    path: filters.path.join(",") || null,
    min: filters.minComplexity ? String(filters.minComplexity) : null,
    max: filters.maxComplexity ? String(filters.maxComplexity) : null,
    since: filters.since || null,
    from: null,
    at: null,
  };
}

export function countFilters(filters: Filters): number {
  const lists = [filters.language, filters.kind, filters.role, filters.path];
  return lists.filter((list) => list.length).length + (filters.minComplexity || filters.maxComplexity ? 1 : 0) + (filters.since ? 1 : 0);
}

export function toFilterBody(filters: Filters): FilterBody | null {
  if (!countFilters(filters)) return null;
  const { minComplexity: low, maxComplexity: high } = filters;
  return {
    languages: filters.language,
    kinds: filters.kind as FilterBody["kinds"],
    roles: filters.role as FilterBody["roles"],
    paths: filters.path,
    complexity: high ? [Math.min(low, high), high] : low,
    changed_since: filters.since,
  };
}

/** Return the filters of a recorded query. */
export function fromFilterBody(body: Partial<FilterBody>): Filters {
  const [low, high] = Array.isArray(body.complexity) ? body.complexity : [body.complexity ?? 0, 0];
  return {
    language: body.languages ?? [],
    kind: body.kinds ?? [],
    role: body.roles ?? [],
    path: body.paths ?? [],
    minComplexity: low ?? 0,
    maxComplexity: high ?? 0,
    since: body.changed_since ?? "",
  };
}

/** Parse settings such as `dense:1.5,length:0,-names`; null if the address has none. */
export function parseRanking(text: string | null): Ranking | null {
  if (text === null) return null;
  const ranking: Ranking = { weights: {}, disabled_signals: [] };
  for (const part of splitList(text)) {
    const [name = "", factor] = part.split(":");
    if (name.startsWith("-")) ranking.disabled_signals.push(name.slice(1));
    else if (factor !== undefined && Number.isFinite(Number(factor)))
      ranking.weights[name] = Math.min(10, Math.max(0, Number(factor)));
  }
  return ranking;
}

/** Format settings for the address; never empty, as an empty parameter is removed. */
export function formatRanking(ranking: Ranking): string {
  const parts = Object.entries(ranking.weights).map(([name, factor]) => `${name}:${factor}`);
  return [...parts, ...ranking.disabled_signals.map((name) => `-${name}`)].join(",") || "default";
}

/** Format settings as the section of the settings file that keeps them. */
export function formatSettingsFile(ranking: Ranking): string {
  const weights = Object.entries(ranking.weights).map(([name, factor]) => `${name}: ${factor}`);
  return [
    "search:",
    `  weights: {${weights.join(", ")}}`,
    `  disabled_signals: [${ranking.disabled_signals.join(", ")}]`,
  ].join("\n");
}

function splitList(text: string | null): string[] {
  return (text ?? "").split(",").map((part) => part.trim()).filter(Boolean);
}

export function parseCount(text: string | null): number {
  const value = Number.parseInt(text ?? "", 10);
  return Number.isFinite(value) && value > 0 ? Math.min(value, 1_000_000) : 0;
}
