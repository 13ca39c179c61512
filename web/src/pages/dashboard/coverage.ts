/** Groups of files with the same outcome for the same reason, as parts of an address. */

import type { Schemas } from "../../api/client";

type Group = Schemas["CoverageGroup"];
export type Outcome = Group["outcome"];

export interface GroupKey {
  outcome: Outcome;
  reason: string;
}

export const OUTCOME_KINDS: Record<Outcome, string> = { indexed: "good", skipped: "warn", failed: "bad" };

export function formatGroup({ outcome, reason }: GroupKey): string {
  return `${outcome}:${reason}`;
}

/** Return the group of an address; null for any other text. */
export function parseGroup(text: string): GroupKey | null {
  const [, outcome, reason = ""] = /^(indexed|skipped|failed):(.*)$/s.exec(text) ?? [];
  return outcome ? { outcome: outcome as Outcome, reason } : null;
}
