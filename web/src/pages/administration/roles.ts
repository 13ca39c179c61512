/** Roles of accounts and levels of grants, in words. */

import type { LevelName, Role } from "../../api/server_types";
import { session } from "../../state/session.svelte";

export const ROLES: { name: Role; meaning: string }[] = [
  { name: "owner", meaning: "everything, and the audit record" },
  { name: "admin", meaning: "users, teams, repositories and the server" },
  { name: "member", meaning: "what the grants of its teams allow" },
  { name: "viewer", meaning: "reads what its teams may read" },
  { name: "auditor", meaning: "reads the audit record, but no repository" },
];

export const LEVELS: { name: LevelName; meaning: string }[] = [
  { name: "read", meaning: "search, ask and read" },
  { name: "index", meaning: "and start and cancel jobs" },
  { name: "administer", meaning: "and change the schedule and the webhook" },
];

/** Return whether the account may give a role, or take it. */
export function canGiveRole(role: Role): boolean {
  const needed = role === "owner" || role === "admin" ? "owners.manage" : "users.manage";
  return session.may(needed);
}
