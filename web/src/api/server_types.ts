/** Names of the types of the team server's administration; they come from its OpenAPI description. */

import type { Schemas } from "./client";

/** A part of a list; `next` is the cursor of the following part. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

export type User = Schemas["UserReply"];
export type Role = User["role"];
export type Me = Schemas["AccountReply"];
export type BrowserSession = Schemas["SessionReply"];
export type ApiKey = Schemas["KeyReply"];
export type CreatedKey = Schemas["CreatedKeyReply"];
export type ScopeName = ApiKey["scopes"][number];
export type Team = Schemas["TeamSummary"];
export type TeamDetails = Schemas["TeamDetailsReply"];
export type Member = Schemas["TeamMember"];
export type Grant = Schemas["GrantReply"];
/** Level of a grant. */
export type LevelName = Schemas["GrantBody"]["level"];
/** Level of an account on a repository; `none` hides it. */
export type VisibleLevel = Me["repositories"][string];
export type HostedRepository = Schemas["HostedRepositoryReply"];
export type CreatedWebhook = Schemas["WebhookSecretReply"];
export type Source = Schemas["SourceReply"];
export type SourceSystem = Schemas["SourceSystemReply"];
export type SettingField = Schemas["SettingField"];
export type Credential = Schemas["CredentialReply"];
export type CredentialKindName = Schemas["NewCredentialBody"]["kind"];
export type AuditEntry = Schemas["AuditEntryReply"];
export type AuditReport = Schemas["AuditReportReply"];
export type Overview = Schemas["ServerOverview"];

/** A job; `phase` is that of the job as a whole, `stage`, `done` and `total` are those of its indexing. */
export type Job = Omit<Schemas["SyncJobReply"], "progress"> & {
  progress: { phase?: string; stage?: string; done?: number; total?: number };
};
