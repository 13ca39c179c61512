/** The pages of the site, each loaded when it is first shown. */

import type { Component } from "svelte";

export interface Page {
  /** First segment of its address. */
  name: string;
  title: string;
  /** Key after `g` that goes to it. */
  key: string;
  load: () => Promise<{ default: Component }>;
}

export const PAGES: Page[] = [
  { name: "dashboard", title: "Dashboard", key: "d", load: () => import("./dashboard/Dashboard.svelte") },
  { name: "code", title: "Code", key: "c", load: () => import("./code/Code.svelte") },
  { name: "search", title: "Search", key: "s", load: () => import("./search/Search.svelte") },
  { name: "graph", title: "Graph", key: "r", load: () => import("./graph/Graph.svelte") },
  { name: "map", title: "Map", key: "m", load: () => import("./map/Map.svelte") },
  { name: "ask", title: "Ask", key: "a", load: () => import("./ask/Ask.svelte") },
  { name: "settings", title: "Settings", key: "t", load: () => import("./settings/Settings.svelte") },
];
