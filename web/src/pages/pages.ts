/** The pages of the site, each loaded when it is first shown. */

import type { Component } from "svelte";
import { account } from "../state/account.svelte";
import { session } from "../state/session.svelte";
import { listSections } from "./administration/sections";

export interface Page {
  /** First segment of its address. */
  name: string;
  title: string;
  /** Key after `g` that goes to it. */
  key: string;
  /** Whether it shows nothing without an index. */
  needsIndex: boolean;
  /** Whether the account of a team server may use it. */
  isAllowed: () => boolean;
  load: () => Promise<{ default: Component }>;
}

const canRead = () => session.may("repository.read");

export const PAGES: Page[] = [
  { name: "dashboard", title: "Dashboard", key: "d", needsIndex: false, isAllowed: canRead, load: () => import("./dashboard/Dashboard.svelte") },
  { name: "code", title: "Code", key: "c", needsIndex: true, isAllowed: canRead, load: () => import("./code/Code.svelte") },
  { name: "search", title: "Search", key: "s", needsIndex: true, isAllowed: canRead, load: () => import("./search/Search.svelte") },
  { name: "graph", title: "Graph", key: "r", needsIndex: true, isAllowed: canRead, load: () => import("./graph/Graph.svelte") },
  { name: "map", title: "Map", key: "m", needsIndex: true, isAllowed: canRead, load: () => import("./map/Map.svelte") },
  { name: "changes", title: "Changes", key: "h", needsIndex: true, isAllowed: canRead, load: () => import("./changes/Changes.svelte") },
  {
    name: "ask",
    title: "Ask",
    key: "a",
    needsIndex: true,
    isAllowed: () => account.may("repository.converse"),
    load: () => import("./ask/Ask.svelte"),
  },
  {
    name: "settings",
    title: "Settings",
    key: "t",
    needsIndex: false,
    isAllowed: () => account.may("repository.administer"),
    load: () => import("./settings/Settings.svelte"),
  },
];

/** Pages of a team server; the account is in its menu. */
const TEAM_PAGES: Page[] = [
  {
    name: "administration",
    title: "Administration",
    key: "n",
    needsIndex: false,
    isAllowed: () => listSections().length > 0,
    load: () => import("./administration/Administration.svelte"),
  },
  {
    name: "account",
    title: "Account",
    key: "o",
    needsIndex: false,
    isAllowed: () => true,
    load: () => import("./account/Account.svelte"),
  },
];

/** Return every page of the service that is shown, whether allowed or not. */
export function listPages(): Page[] {
  return session.isTeamServer ? [...PAGES, ...TEAM_PAGES] : PAGES;
}
