/** The pages of the site, each loaded when it is first shown. */

import type { Component } from "svelte";

export interface Page {
  /** First segment of its address. */
  name: string;
  title: string;
  /** Key after `g` that goes to it. */
  key: string;
  /** Whether it shows nothing without an index. */
  needsIndex: boolean;
  load: () => Promise<{ default: Component }>;
}

export const PAGES: Page[] = [
  { name: "dashboard", title: "Dashboard", key: "d", needsIndex: false, load: () => import("./dashboard/Dashboard.svelte") },
  { name: "code", title: "Code", key: "c", needsIndex: true, load: () => import("./code/Code.svelte") },
  { name: "search", title: "Search", key: "s", needsIndex: true, load: () => import("./search/Search.svelte") },
  { name: "graph", title: "Graph", key: "r", needsIndex: true, load: () => import("./graph/Graph.svelte") },
  { name: "map", title: "Map", key: "m", needsIndex: true, load: () => import("./map/Map.svelte") },
  { name: "changes", title: "Changes", key: "h", needsIndex: true, load: () => import("./changes/Changes.svelte") },
  { name: "ask", title: "Ask", key: "a", needsIndex: true, load: () => import("./ask/Ask.svelte") },
  { name: "settings", title: "Settings", key: "t", needsIndex: false, load: () => import("./settings/Settings.svelte") },
];
