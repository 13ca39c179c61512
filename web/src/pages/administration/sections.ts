/** The pages of the administration, each loaded when it is first shown. */

import type { Component } from "svelte";
import { session } from "../../state/session.svelte";

export interface Section {
  /** Second segment of its address. */
  name: string;
  title: string;
  isAllowed: () => boolean;
  load: () => Promise<{ default: Component }>;
}

const canReadUsers = () => session.may("users.read");
const canIndex = () => session.may("repository.index") || session.may("server.operate");

export const SECTIONS: Section[] = [
  { name: "users", title: "Users", isAllowed: canReadUsers, load: () => import("./users/Users.svelte") },
  { name: "teams", title: "Teams", isAllowed: canReadUsers, load: () => import("./teams/Teams.svelte") },
  { name: "repositories", title: "Repositories", isAllowed: canIndex, load: () => import("./repositories/Repositories.svelte") },
  {
    name: "credentials",
    title: "Credentials",
    isAllowed: () => session.may("repositories.manage"),
    load: () => import("./credentials/Credentials.svelte"),
  },
  { name: "jobs", title: "Jobs", isAllowed: canIndex, load: () => import("./jobs/Jobs.svelte") },
  { name: "audit", title: "Audit", isAllowed: () => session.may("audit.read"), load: () => import("./audit/Audit.svelte") },
  { name: "server", title: "Server", isAllowed: () => session.may("server.operate"), load: () => import("./server/Server.svelte") },
];

/** Return the pages that the account may use. */
export function listSections(): Section[] {
  return SECTIONS.filter((section) => section.isAllowed());
}
