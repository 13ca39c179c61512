/** Nested values of the server as lines of a table. */

export interface Fact {
  name: string;
  value: string | number;
}

/** Return the leaves of a nested object, with dotted names. */
export function listFacts(values: Record<string, unknown>, prefix = ""): Fact[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const name = prefix + key;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return listFacts(value as Record<string, unknown>, `${name}.`);
    }
    return [{ name, value: formatValue(value) }];
  });
}

function formatValue(value: unknown): string | number {
  if (typeof value === "number") return value;
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null || value === "" ? "not set" : String(value);
}
