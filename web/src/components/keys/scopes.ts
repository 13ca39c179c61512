/** Scopes of API keys, as steps that include those before. */

import type { ApiKey, ScopeName } from "../../api/server_types";

export interface ScopeStep {
  title: string;
  scopes: ScopeName[];
}

export const SCOPE_STEPS: ScopeStep[] = [
  { title: "Read: search and ask", scopes: ["read"] },
  { title: "Read and index", scopes: ["read", "index"] },
  { title: "Everything that the account may do", scopes: ["read", "index", "administer"] },
];

export const EXPIRIES: { title: string; days: number | null }[] = [
  { title: "In 30 days", days: 30 },
  { title: "In 90 days", days: 90 },
  { title: "In a year", days: 365 },
  { title: "Never", days: null },
];

/** Return the time in some days as the server takes it; null is never. */
export function computeExpiry(days: number | null): string | null {
  return days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString();
}

/** Return why a key is of no use any more; empty if it works. */
export function describeEnd(key: ApiKey): "" | "revoked" | "expired" {
  if (key.revoked_at) return "revoked";
  return key.expires_at && Date.parse(key.expires_at) <= Date.now() ? "expired" : "";
}
