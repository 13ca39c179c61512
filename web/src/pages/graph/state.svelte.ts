/** State of the graph page: the address says what is drawn, and the service draws it. */

import { api, isAbort, type Schemas, unwrap } from "../../api/client";
import { router } from "../../state/router.svelte";
import {
  DEFAULT_CONFIDENCE,
  type Filter,
  formatKeys,
  formatSteps,
  type Mode,
  parseFilter,
  parseKeys,
  parseMode,
  parseSteps,
  RELATIONS,
  type Step,
  toKey,
  toName,
  type View,
  type ViewNode,
} from "./model";

const DEFAULT_NODES = 300;
export const MAX_NODES = 2_000;
/** Edges for each node that may be drawn: fewer on the map, where they cross. */
const MAP_EDGES = 1.35;
const PICTURE_EDGES = 3;
const MAX_RING = 100;
const IMPACT_DEPTH = 3;

/** What is drawn. */
export interface Picture {
  view: View;
  isMap: boolean;
  /** What it is about: the camera is reset when it changes. */
  about: string;
}

export type Cycle = Schemas["GraphCycle"];
export type Hotspot = Schemas["Hotspot"];

export class GraphState {
  picture = $state.raw<Picture | null>(null);
  /** Node that the picture is about. */
  subject = $state("");
  cycles = $state.raw<Cycle[]>([]);
  cycleTotal = $state(0);
  hotspots = $state.raw<Hotspot[]>([]);
  /** Says why there is nothing to draw. */
  note = $state("");
  isBusy = $state(false);
  error = $state<unknown>(null);
  /** Counts how often everything was loaded again. */
  round = $state(0);
  #abort: AbortController | null = null;

  constructor(readonly root: string) {}

  get view(): View | null {
    return this.picture?.view ?? null;
  }

  get query(): URLSearchParams {
    return router.route.query;
  }

  get mode(): Mode {
    return parseMode(this.query);
  }

  /** Whether the picture is about one node. */
  get needsName(): boolean {
    return this.mode === "neighbours" || this.mode === "path" || this.mode === "impact";
  }

  get name(): string {
    return this.query.get("name") ?? "";
  }

  get end(): string {
    return this.query.get("end") ?? "";
  }

  get selected(): string {
    return this.query.get("sel") ?? "";
  }

  get filter(): Filter {
    return parseFilter(this.query);
  }

  get opened(): string[] | null {
    return parseKeys(this.query.get("open"));
  }

  get steps(): Step[] {
    return parseSteps(this.query.get("steps"));
  }

  /** Maximum number of nodes that are drawn. */
  get maxNodes(): number {
    return Math.min(MAX_NODES, Math.max(1, Number(this.query.get("nodes")) || DEFAULT_NODES));
  }

  get level(): "files" | "symbols" {
    return this.query.get("level") === "symbols" ? "symbols" : "files";
  }

  get cycle(): number {
    return Number(this.query.get("cycle")) || 0;
  }

  /** Everything that decides what is drawn. */
  get request(): string {
    return ["mode", "name", "end", "rel", "conf", "tests", "ext", "open", "steps", "level", "cycle", "nodes"]
      .map((name) => this.query.get(name) ?? "-")
      .join("\n");
  }

  get filterBody() {
    const { relations, minConfidence, tests, external } = this.filter;
    return { root: this.root, relations, min_confidence: minConfidence, tests, external };
  }

  // Changes of the address

  select(key: string | null): void {
    router.setQuery({ sel: key });
  }

  setMode(mode: Mode, name = this.name): void {
    const needsName = mode === "neighbours" || mode === "path" || mode === "impact";
    router.setQuery(
      { mode: mode === "map" ? null : mode, name: needsName ? name : null, end: null, steps: null, cycle: null, sel: null },
      { replace: false },
    );
  }

  setNames(name: string, end: string | null = null): void {
    router.setQuery({ mode: this.mode, name, end, steps: null, sel: null }, { replace: false });
  }

  setFilter(change: Partial<Filter>): void {
    const { relations, minConfidence, tests, external } = { ...this.filter, ...change };
    router.setQuery({
      rel: relations.length === RELATIONS.length ? null : relations.join(",") || "none",
      conf: minConfidence === DEFAULT_CONFIDENCE ? null : String(minConfidence),
      tests: tests ? null : "0",
      ext: external ? "1" : null,
    });
  }

  /** Draw, or no longer draw, what is inside a node. */
  toggle(node: ViewNode): void {
    const opened = new Set(this.view?.opened ?? []);
    if (node.is_open) for (const key of opened) opened.delete(key === node.key || isInside(key, node.key) ? key : "");
    else opened.add(node.key);
    router.setQuery({ open: formatKeys([...opened]), sel: node.key }, { replace: false });
  }

  /** Draw neighbours of a node, in addition to what is drawn in a neighbourhood. */
  expand(node: ViewNode, step: Omit<Step, "key">): void {
    const isDrawn = this.mode === "neighbours" && this.view?.nodes.some(({ key }) => key === node.key);
    const own = isDrawn ? this.#listSteps() : [];
    const steps = [...own, { key: node.key, ...step }];
    router.setQuery(
      { mode: "neighbours", name: isDrawn ? this.subject : node.key, end: null, steps: formatSteps(steps), sel: node.key },
      { replace: false },
    );
  }

  /** Draw more neighbours of a step. */
  raise(index: number): void {
    const steps = this.#listSteps().map((step, position) => (position === index ? { ...step, limit: Math.min(500, step.limit * 4) } : step));
    router.setQuery({ steps: formatSteps(steps) }, { replace: false });
  }

  #listSteps(): Step[] {
    return this.steps.length ? this.steps : [{ key: this.subject, direction: "both", relations: [], limit: 12 }];
  }

  // Requests

  async load(): Promise<void> {
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    this.isBusy = true;
    this.error = null;
    try {
      const { mode, end, cycle, level } = this;
      const view = await this.#fetch(abort.signal);
      if (abort.signal.aborted) return;
      const about = mode === "map" ? "" : [mode, this.subject, end, cycle, level].join("\n");
      this.picture = view && { view, isMap: mode === "map", about };
    } catch (error) {
      if (isAbort(error) || abort.signal.aborted) return;
      this.error = error;
      this.picture = null;
    } finally {
      if (this.#abort === abort) this.isBusy = false;
    }
  }

  /** Draw the current state of the repository; the camera stays where it is. */
  reload(): void {
    this.round += 1;
    void this.load();
  }

  stop(): void {
    this.#abort?.abort();
  }

  async #fetch(signal: AbortSignal): Promise<View | null> {
    this.note = "";
    if (!this.needsName) this.subject = "";
    const limits = { max_nodes: this.maxNodes, max_edges: Math.round(this.maxNodes * (this.mode === "map" ? MAP_EDGES : PICTURE_EDGES)) };
    const body = { ...this.filterBody, ...limits };
    if (this.mode === "map") return unwrap(api.POST("/api/v1/graph/view/overview", { body: { ...body, opened: this.opened }, signal }));
    if (this.mode === "cycles") return this.#fetchCycles(body, signal);
    if (this.mode === "hotspots") return this.#fetchHotspots(body, signal);
    if (!this.name) return this.#explain("Choose a name above. Names are suggested as you type.");
    if (this.mode === "neighbours") {
      const steps = this.steps.map((step) => ({ ...step, relations: step.relations.length ? step.relations : null }));
      const view = await unwrap(api.POST("/api/v1/graph/view/neighbourhood", { body: { ...body, name: this.name, steps }, signal }));
      this.subject = view.nodes[0]?.key ?? "";
      return view;
    }
    const { node } = await unwrap(api.POST("/api/v1/graph/view/node", { body: { ...this.filterBody, name: this.name, limit: 0 }, signal }));
    this.subject = node.key;
    return this.mode === "path" ? this.#fetchPath(node, body, signal) : this.#fetchImpact(node, body, signal);
  }

  async #fetchPath(node: ViewNode, body: Body, signal: AbortSignal): Promise<View | null> {
    if (!this.end) return this.#explain("Choose where the path ends.");
    const goal = await unwrap(api.POST("/api/v1/graph/view/node", { body: { ...this.filterBody, name: this.end, limit: 0 }, signal }));
    const { results } = await unwrap(
      api.POST("/api/v1/graph/path", { body: { root: this.root, start: toName(node), end: toName(goal.node), candidates: false }, signal }),
    );
    if (!results.length) return this.#explain(`No path from ${node.label} to ${goal.node.label} is known. Try the other direction.`);
    const nodes = [{ key: node.key, distance: 0 }, ...results.map((step, index) => ({ key: toKey(step), distance: index + 1 }))];
    return unwrap(api.POST("/api/v1/graph/view/arrangement", { body: { ...body, external: true, tests: true, nodes, arrangement: "line" }, signal }));
  }

  async #fetchImpact(node: ViewNode, body: Body, signal: AbortSignal): Promise<View | null> {
    const { results, total } = await unwrap(
      api.POST("/api/v1/graph/{question}", {
        params: { path: { question: "impact" } },
        body: { root: this.root, name: toName(node), depth: IMPACT_DEPTH, limit: body.max_nodes, mentions: false, candidates: false },
        signal,
      }),
    );
    const users = this.filter.tests ? results : results.filter(({ role }) => role !== "test");
    if (!users.length) return this.#explain(`Nothing is known to depend on ${node.label}.`);
    const nodes = [{ key: node.key, distance: 0 }, ...users.map((user) => ({ key: toKey(user), distance: user.depth }))];
    const view = await unwrap(api.POST("/api/v1/graph/view/arrangement", { body: { ...body, nodes: nodes.slice(0, body.max_nodes), arrangement: "rings" }, signal }));
    return { ...view, omitted_nodes: Math.max(0, total - results.length) + Math.max(0, nodes.length - body.max_nodes) };
  }

  async #fetchCycles(body: Body, signal: AbortSignal): Promise<View | null> {
    const { results, total } = await unwrap(api.POST("/api/v1/graph/cycles", { body: { root: this.root, level: this.level, limit: 200 }, signal }));
    this.cycles = results;
    this.cycleTotal = total;
    const cycle = results[this.cycle] ?? results[0];
    if (!cycle) return this.#explain(this.level === "files" ? "No files import one another in a cycle." : "No functions call one another in a cycle.");
    const keys = cycle.steps.map(toKey);
    if (this.level === "files") keys.push(...cycle.members.filter((path) => !keys.includes(path)));
    const nodes = keys.slice(0, MAX_RING).map((key) => ({ key, distance: 0 }));
    return unwrap(api.POST("/api/v1/graph/view/arrangement", { body: { ...body, tests: true, nodes, arrangement: "ring" }, signal }));
  }

  async #fetchHotspots(body: Body, signal: AbortSignal): Promise<View | null> {
    const { results } = await unwrap(api.POST("/api/v1/graph/hotspots", { body: { root: this.root, limit: 40 }, signal }));
    this.hotspots = results;
    if (!results.length) return this.#explain("No declaration is used by another.");
    const nodes = results.map((hotspot) => ({ key: toKey(hotspot), distance: 0 }));
    return unwrap(api.POST("/api/v1/graph/view/arrangement", { body: { ...body, nodes, arrangement: "ring" }, signal }));
  }

  #explain(note: string): null {
    this.note = note;
    return null;
  }
}

type Body = GraphState["filterBody"] & { max_nodes: number; max_edges: number };

function isInside(key: string, container: string): boolean {
  return key.startsWith(container.endsWith("/") ? container : `${container}::`) || key.startsWith(`${container}.`);
}
