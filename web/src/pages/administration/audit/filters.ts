/** Filters of the audit record, as they are in the address and in requests. */

export interface Filters {
  actor: string;
  action: string;
  repository: string;
  /** Times in ISO 8601. */
  since: string;
  until: string;
}

const NAMES: (keyof Filters)[] = ["actor", "action", "repository", "since", "until"];

/** Parameters of the address; `of` is the repository, as `repo` is the one that the other pages show. */
const PARAMETERS: Record<keyof Filters, string> = { actor: "actor", action: "action", repository: "of", since: "since", until: "until" };

export function readFilters(query: URLSearchParams): Filters {
  return Object.fromEntries(NAMES.map((name) => [name, query.get(PARAMETERS[name]) ?? ""])) as unknown as Filters;
}

/** Return the parameters of the address that stand for filters. */
export function writeFilters(filters: Filters): Record<string, string | null> {
  return Object.fromEntries(NAMES.map((name) => [PARAMETERS[name], filters[name] || null]));
}

/** Return an ISO time as the value of a box of date and time, in the time zone of the browser. */
export function toLocalValue(time: string): string {
  const date = new Date(time);
  if (!time || Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Return the value of a box of date and time as an ISO time. */
export function fromLocalValue(value: string): string {
  const date = new Date(value);
  return value && !Number.isNaN(date.getTime()) ? date.toISOString() : "";
}
