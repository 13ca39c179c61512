/** The drawn picture: nodes and edges by WebGL, circles of opened nodes on a canvas below. */

import Graph from "graphology";
import Sigma from "sigma";
import type { NodeDisplayData } from "sigma/types";
import { extremityArrow, pathCurved, pathLine } from "sigma/rendering";
import { Palette } from "./colors";
import { type LabelPosition, placeLabels } from "./labels";
import type { View, ViewNode } from "./model";

const MAX_LABEL_CHARS = 30;
const LABEL_WAIT_MS = 90;
const MAX_EDGE_PIXELS = 5;
const MAX_MOVING_EDGES = 1_000; // more are hidden while the camera moves, so that it moves smoothly without a GPU
const LABEL_ROOM = 20; // on both sides together, in rows
const COLLAPSED_SHARE = 0.62; // of its own area, so that edges stay visible between nodes
const ZOOM_MS = 350;
/** Width of the ring around the chosen node. */
export const RING_PIXELS = 3;

export interface Point {
  x: number;
  y: number;
}

export interface Handlers {
  select: (key: string | null) => void;
  open: (key: string) => void;
}

export function shorten(label: string): string {
  return label.length > MAX_LABEL_CHARS ? `${label.slice(0, MAX_LABEL_CHARS - 1)}…` : label;
}

export class Drawing {
  readonly sigma: Sigma;
  view: View = { nodes: [], edges: [], opened: [], steps: [], omitted_nodes: 0, omitted_edges: 0, extent: 1 };
  palette = new Palette();
  #positions = new Map<string, number>();
  #linked: number[][] = [];
  #selected: string | null = null;
  #hovered: string | null = null;
  #active = new Set<string>();
  #isEmphasised = true;
  #unitsPerPixel = Infinity;
  /** The nodes whose links are emphasised: one, with what is drawn inside it. */
  #centers = new Set<string>();
  #labels = new Map<string, LabelPosition>();
  #labelTimer: ReturnType<typeof setTimeout> | undefined;
  #hulls: HTMLCanvasElement;
  #isMap = false;

  constructor(container: HTMLElement, handlers: Handlers) {
    this.sigma = new Sigma(new Graph({ type: "directed" }), container, {
      primitives: {
        edges: {
          paths: [pathLine(), pathCurved({ segments: 8 })],
          extremities: [extremityArrow({ lengthRatio: 5, widthRatio: 4 })],
          defaultHead: "arrow",
        },
      },
      styles: {
        nodes: {
          x: { attribute: "x" },
          y: { attribute: "y" },
          size: { attribute: "size" },
          color: { attribute: "color" },
          label: { attribute: "label" },
          labelSize: 12,
          labelFont: "system-ui, sans-serif",
        },
        edges: {
          size: { attribute: "size" },
          color: { attribute: "color" },
          path: { attribute: "path", defaultValue: "straight" },
        },
      },
      nodeReducer: (key, data) => this.#styleNode(key, data.color),
      edgeReducer: (_key, data, attributes) => this.#styleEdge(data.color, attributes),
      settings: {
        itemSizesReference: "positions",
        zoomToSizeRatioFunction: (ratio) => ratio,
        minEdgeThickness: 1,
        labelRenderedSizeThreshold: 0,
        stagePadding: 28,
        minCameraRatio: 0.0005,
        maxCameraRatio: 4,
        allowInvalidContainer: true,
        hideEdgesOnMove: false,
      },
    });
    this.#hulls = this.sigma.createCanvas("hulls", { beforeLayer: "stage", style: { inset: "0", pointerEvents: "none" } });
    this.sigma.on("clickNode", ({ node }) => handlers.select(node));
    this.sigma.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      handlers.open(node);
    });
    this.sigma.on("clickStage", ({ event }) => handlers.select(this.#findHull(this.sigma.viewportToGraph(event))));
    this.sigma.on("enterNode", ({ node }) => this.#hover(node));
    this.sigma.on("leaveNode", () => this.#hover(null));
    this.sigma.on("beforeRender", () => this.#drawHulls());
    this.sigma.on("afterRender", () => this.#scheduleLabels());
    this.sigma.on("resize", () => this.#scheduleLabels());
  }

  /** Draw a view. The camera stays where it is, unless `fit`. */
  show(view: View, { isMap, fit }: { isMap: boolean; fit: boolean }): void {
    this.view = view;
    this.#isMap = isMap;
    this.#positions = new Map(view.nodes.map((node, index) => [node.key, index]));
    this.#linked = view.nodes.map(() => []);
    for (const { source, target } of view.edges) {
      this.#linked[source]?.push(target);
      this.#linked[target]?.push(source);
    }
    this.sigma.setSetting("hideEdgesOnMove", view.edges.length > MAX_MOVING_EDGES);
    this.sigma.setCustomBBox(this.#findBox());
    this.sigma.setGraph(this.#buildGraph());
    this.#activate();
    if (fit) this.fit(false);
  }

  /** Mark a node, and emphasise what it is linked to. */
  select(key: string | null, isEmphasised: boolean): void {
    this.#selected = key;
    this.#isEmphasised = isEmphasised;
    this.#activate();
    this.#scheduleLabels();
  }

  /** Read the colours of the theme again. */
  recolor(): void {
    this.palette = new Palette();
    this.show(this.view, { isMap: this.#isMap, fit: false });
  }

  fit(isAnimated = true): void {
    const camera = { x: 0.5, y: 0.5, angle: 0, ratio: 1 };
    if (isAnimated) void this.sigma.getCamera().animate(camera, { duration: ZOOM_MS });
    else this.sigma.getCamera().setState(camera);
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    void camera.animate({ ratio: camera.getBoundedRatio(camera.ratio / factor) }, { duration: ZOOM_MS / 2 });
  }

  /** Move the camera to a node: an opened one fills the picture. */
  focus(key: string): void {
    const node = this.view.nodes[this.#positions.get(key) ?? -1];
    if (!node) return;
    const { x, y } = this.sigma.graphToFramedGraph(node);
    const box = this.#findBox();
    const span = Math.max(box.x[1] - box.x[0], box.y[1] - box.y[0]);
    const camera = this.sigma.getCamera();
    const ratio = node.is_open ? Math.min(1, (2.3 * node.radius) / span) : Math.min(camera.ratio, this.#isMap ? (14 * node.radius) / span : 1);
    void camera.animate({ x, y, ratio }, { duration: ZOOM_MS });
  }

  kill(): void {
    clearTimeout(this.#labelTimer);
    this.sigma.kill();
  }

  /** Return the place and size of a node's mark in the units of the picture. */
  placeMark(node: ViewNode): Point & { size: number } {
    if (!node.is_open) return { x: node.x, y: node.y, size: node.radius * (this.#isMap ? COLLAPSED_SHARE : 1) };
    return { x: node.x, y: node.y + node.radius, size: node.radius * 0.035 };
  }

  findColor(node: ViewNode): string {
    return this.palette.ofNode(node, this.#isMap && node.children > 0 && !node.is_open);
  }

  #buildGraph(): Graph {
    const graph = new Graph({ type: "directed" });
    for (const node of this.view.nodes) {
      const mark = this.placeMark(node);
      graph.addNode(node.key, {
        ...mark,
        color: this.findColor(node),
        label: shorten(node.label),
      });
    }
    const { nodes, edges } = this.view;
    const pairs = new Set(edges.map(({ source, target }) => `${source} ${target}`));
    for (const edge of edges) {
      const source = nodes[edge.source];
      const target = nodes[edge.target];
      if (!source || !target) continue;
      const scale = Math.min(this.placeMark(source).size, this.placeMark(target).size);
      graph.addEdge(source.key, target.key, {
        color: this.palette.ofEdge(edge),
        size: scale * 0.02 * (1 + Math.log2(edge.count)),
        path: pairs.has(`${edge.target} ${edge.source}`) ? "curved" : "straight",
        source: source.key,
        target: target.key,
      });
    }
    return graph;
  }

  #styleNode(key: string, color: string): Partial<NodeDisplayData> {
    const isDim = this.#active.size > 0 && !this.#active.has(key);
    const position = this.#labels.get(key) ?? (key === this.#hovered || key === this.#selected ? "right" : undefined);
    return {
      color,
      opacity: isDim ? 0.25 : 1,
      labelColor: isDim ? this.palette.muted : this.palette.text,
      labelVisibility: position ? "visible" : "hidden",
      labelPosition: position ?? "right",
    };
  }

  /** Place the labels and limit the width of edges once the camera rests. */
  #scheduleLabels(): void {
    clearTimeout(this.#labelTimer);
    this.#labelTimer = setTimeout(() => {
      const labels = this.#placeLabels();
      const unitsPerPixel = 1 / this.toViewport({ x: 0, y: 0, size: 1 }).radius;
      const isSame = labels.size === this.#labels.size && [...labels].every(([key, position]) => this.#labels.get(key) === position);
      if (isSame && Math.abs(unitsPerPixel / this.#unitsPerPixel - 1) < 0.05) return;
      this.#labels = labels;
      this.#unitsPerPixel = unitsPerPixel;
      this.sigma.refresh({ skipIndexation: true });
    }, LABEL_WAIT_MS);
  }

  #placeLabels(): Map<string, LabelPosition> {
    const { width, height } = this.sigma.getDimensions();
    const marks = this.view.nodes.map((node) => ({
      key: node.key,
      label: shorten(node.label),
      ...this.toViewport(this.placeMark(node)),
      rank: node.key === this.#selected ? Infinity : (node.is_open ? 2 : 1) * node.radius,
      preferred: (this.#isMap ? (node.is_open ? "above" : "right") : node.x < -1 ? "left" : "right") as LabelPosition,
    }));
    return placeLabels(marks, width, height);
  }

  #styleEdge(color: string, { source, target, size }: Record<string, unknown>): { color: string; opacity: number; size: number } {
    const style = { color, size: Math.min(size as number, MAX_EDGE_PIXELS * this.#unitsPerPixel) };
    if (!this.#centers.size) return { ...style, opacity: this.#isMap ? 0.28 : 0.65 };
    return { ...style, opacity: this.#centers.has(source as string) || this.#centers.has(target as string) ? (this.#centers.size > 1 ? 0.55 : 0.9) : 0.05 };
  }

  /** The node whose links are emphasised. */
  get #center(): string | null {
    const center = this.#hovered ?? (this.#isEmphasised ? this.#selected : null);
    return center !== null && this.#positions.has(center) ? center : null;
  }

  /** Return where the label of a node is drawn; none for a hidden one. */
  findLabel(key: string): LabelPosition | undefined {
    return this.#labels.get(key);
  }

  #hover(key: string | null): void {
    this.#hovered = key;
    this.#activate();
  }

  /** Emphasise the chosen node with what it is linked to. */
  #activate(): void {
    const { nodes } = this.view;
    const centers = new Set<number>();
    nodes.forEach(({ key, parent }, index) => {
      if (key === this.#center || centers.has(parent)) centers.add(index); // outer nodes precede inner ones
    });
    const active = [...centers].flatMap((index) => [index, ...(this.#linked[index] ?? [])]);
    this.#centers = new Set([...centers].map((index) => nodes[index]!.key));
    this.#active = new Set(active.map((index) => nodes[index]!.key));
    this.sigma.refresh({ skipIndexation: true });
  }

  #findBox(): { x: [number, number]; y: [number, number] } {
    const nodes = this.view.nodes.filter(({ parent }) => parent < 0); // what is inside others changes nothing
    if (!nodes.length) return { x: [-1, 1], y: [-1, 1] };
    const xs = nodes.flatMap(({ x, radius }) => [x - radius, x + radius]);
    const ys = nodes.flatMap(({ y, radius }) => [y - radius, y + radius]);
    if (this.#isMap) return { x: [Math.min(...xs), Math.max(...xs)], y: [Math.min(...ys), Math.max(...ys)] };
    const grow = (low: number, high: number, room: number): [number, number] => {
      const missing = Math.max(room, 12 - (high - low)) / 2;
      return [low - missing, high + missing];
    };
    return { x: grow(Math.min(...xs), Math.max(...xs), LABEL_ROOM), y: grow(Math.min(...ys), Math.max(...ys), 2) };
  }

  #findHull({ x, y }: Point): string | null {
    const inside = this.view.nodes.filter((node) => node.is_open && Math.hypot(node.x - x, node.y - y) < node.radius);
    return inside.at(-1)?.key ?? null; // outer nodes precede inner ones
  }

  #drawHulls(): void {
    const { width, height } = this.sigma.getDimensions();
    const scale = window.devicePixelRatio || 1;
    const canvas = this.#hulls;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    for (const { x, y, radius, isSelected } of this.listHulls()) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.globalAlpha = 0.55;
      context.fillStyle = this.palette.surface;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = isSelected ? 2 : 1;
      context.strokeStyle = isSelected ? this.palette.accent : this.palette.border;
      context.stroke();
    }
    const ring = this.findRing();
    if (!ring) return;
    context.beginPath();
    context.arc(ring.x, ring.y, ring.radius, 0, 2 * Math.PI);
    context.lineWidth = RING_PIXELS;
    context.strokeStyle = this.palette.accent;
    context.stroke();
  }

  /** Return the ring around the chosen node, in pixels; null for an opened one, whose own circle is marked. */
  findRing(): (Point & { radius: number }) | null {
    const selected = this.view.nodes[this.#positions.get(this.#selected ?? "") ?? -1];
    if (!selected || selected.is_open) return null;
    const { x, y, radius } = this.toViewport(this.placeMark(selected));
    return { x, y, radius: radius + RING_PIXELS + 1 };
  }

  /** List the circles of opened nodes, in pixels. */
  listHulls(): { key: string; x: number; y: number; radius: number; isSelected: boolean }[] {
    return this.view.nodes
      .filter((node) => node.is_open)
      .map((node) => ({
        key: node.key,
        ...this.toViewport({ x: node.x, y: node.y, size: node.radius }),
        isSelected: node.key === this.#selected,
      }));
  }

  toViewport({ x, y, size }: Point & { size: number }): Point & { radius: number } {
    const center = this.sigma.graphToViewport({ x, y });
    const rim = this.sigma.graphToViewport({ x: x + size, y });
    return { ...center, radius: Math.hypot(rim.x - center.x, rim.y - center.y) };
  }
}
