/** Bodies of the team server's administration. */

export type Role = "owner" | "admin" | "member" | "viewer" | "auditor";
export type LevelName = "none" | "read" | "index" | "administer";
export type ScopeName = "read" | "index" | "administer";

/** A part of a list; `next` is the cursor of the following part. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

export interface Quota {
  name: string;
  used: number;
  /** 0 is no limit. */
  limit: number;
}

export interface Me {
  id: string;
  name: string;
  email: string | null;
  kind: string;
  role: Role;
  actions: string[];
  teams: { id: string; name: string }[];
  /** Level by the name of each repository that is visible. */
  repositories: Record<string, LevelName>;
  quotas: Quota[];
}

export interface BrowserSession {
  id: string;
  address: string;
  created_at: string;
  expires_at: string;
  is_current: boolean;
}

export interface ApiKey {
  id: string;
  kind: string;
  name: string;
  prefix: string;
  scopes: ScopeName[];
  /** Names of the repositories that it is bound to; null binds it to none. */
  repositories: string[] | null;
  created_at: string;
  expires_at: string | null;
  used_at: string | null;
  revoked_at: string | null;
}

/** A key or token with its secret, which is shown once. */
export interface CreatedKey {
  key: ApiKey;
  secret: string;
}

export interface User {
  id: string;
  kind: "person" | "service";
  name: string;
  email: string | null;
  role: Role;
  is_active: boolean;
  created_at: string;
  seen_at: string | null;
  teams?: { id: string; name: string }[];
}

export interface Team {
  id: string;
  name: string;
  oidc_group: string | null;
  created_at: string;
  member_count: number;
}

export interface Member {
  id: string;
  name: string;
  email: string | null;
  role: Role;
  is_from_oidc: boolean;
}

/** A grant on a repository, or on one of its sources. */
export interface Grant {
  id: string;
  repository: string;
  source: string | null;
  level: LevelName;
}

export interface TeamDetails extends Team {
  members: Member[];
  grants: Grant[];
}

export interface HostedRepository {
  id: string;
  name: string;
  url: string;
  branch: string;
  credential_id: string | null;
  team_id: string | null;
  interval_minutes: number;
  has_webhook: boolean;
  commit: string;
  indexed_at: string | null;
  next_sync_at: string | null;
  created_at: string;
  level: LevelName;
}

export interface CreatedWebhook {
  url: string;
  secret: string;
}

export interface Source {
  id: string;
  name: string;
}

export interface Credential {
  id: string;
  name: string;
  kind: string;
  host: string;
  details: Record<string, string>;
  created_at: string;
}

export interface Job {
  id: string;
  repository: string;
  reason: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  attempts: number;
  /** `phase` of the job as a whole; `stage`, `done` and `total` of its indexing. */
  progress: { phase?: string; stage?: string; done?: number; total?: number };
  error: string;
  commit: string;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
}

export interface AuditEntry {
  sequence: number;
  time: string;
  actor_id: string;
  actor: string;
  address: string;
  action: string;
  repository: string;
  outcome: "allowed" | "denied" | "failed";
  detail: string;
}

export interface AuditReport {
  is_intact: boolean;
  count: number;
  problem: string;
}
