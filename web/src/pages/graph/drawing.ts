/** The drawn picture: nodes and edges by WebGL, circles of opened nodes on a canvas below. */

import Graph from "graphology";
import Sigma from "sigma";
import { extremityArrow, pathCurved, pathLine } from "sigma/rendering";
import { Palette } from "./colors";
import type { View, ViewNode } from "./model";

const MAX_LABEL_CHARS = 34;
const COLLAPSED_SHARE = 0.62; // of its own area, so that edges stay visible between nodes
const ZOOM_MS = 350;

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
  #hulls: HTMLCanvasElement;
  #isMap = false;

  constructor(container: HTMLElement, handlers: Handlers) {
    this.sigma = new Sigma(new Graph({ type: "directed" }), container, {
      primitives: {
        edges: {
          paths: [pathLine(), pathCurved()],
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
          labelPosition: { attribute: "labelPosition", defaultValue: "right" },
          depth: { whenState: "isHighlighted", then: "topNodes", else: "nodes" },
          labelVisibility: { whenState: "isHighlighted", then: "visible", else: "auto" },
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
        labelDensity: 1.4,
        labelGridCellSize: 90,
        labelRenderedSizeThreshold: 3,
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
    this.sigma.setCustomBBox(this.#findBox());
    this.sigma.setGraph(this.#buildGraph());
    this.#activate();
    if (fit) this.fit(false);
  }

  select(key: string | null): void {
    this.#selected = key;
    this.#activate();
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
    this.sigma.kill();
  }

  /** Return the place and size of a node's mark in the units of the picture. */
  placeMark(node: ViewNode): Point & { size: number } {
    if (!node.is_open) return { x: node.x, y: node.y, size: node.radius * (this.#isMap ? COLLAPSED_SHARE : 1) };
    return { x: node.x, y: node.y + node.radius, size: node.radius * 0.035 };
  }

  #buildGraph(): Graph {
    const graph = new Graph({ type: "directed" });
    const half = this.view.nodes.reduce((sum, node) => sum + node.x, 0) / (this.view.nodes.length || 1);
    for (const node of this.view.nodes) {
      const mark = this.placeMark(node);
      graph.addNode(node.key, {
        ...mark,
        color: this.palette.ofNode(node),
        label: shorten(node.label),
        labelPosition: this.#isMap ? (node.is_open ? "above" : "right") : node.x < half - 0.01 && node.x < -1 ? "left" : "right",
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

  #styleNode(key: string, color: string): { color: string; labelColor: string; opacity: number; zIndex: number } {
    const isDim = this.#active.size > 0 && !this.#active.has(key);
    return { color, opacity: isDim ? 0.25 : 1, labelColor: isDim ? this.palette.muted : this.palette.text, zIndex: key === this.#selected ? 2 : 1 };
  }

  #styleEdge(color: string, { source, target }: Record<string, unknown>): { color: string; opacity: number } {
    const center = this.#hovered ?? this.#selected;
    if (!center || !this.#positions.has(center)) return { color, opacity: this.#isMap ? 0.28 : 0.65 };
    return { color, opacity: source === center || target === center ? 0.9 : 0.05 };
  }

  #hover(key: string | null): void {
    this.#hovered = key;
    this.#activate();
  }

  /** Emphasise the chosen node with what it is linked to. */
  #activate(): void {
    const center = this.#hovered ?? this.#selected;
    const index = this.#positions.get(center ?? "");
    const linked = index === undefined ? [] : [index, ...(this.#linked[index] ?? [])];
    this.#active = new Set(linked.map((position) => this.view.nodes[position]!.key));
    this.sigma.refresh({ skipIndexation: true });
  }

  #findBox(): { x: [number, number]; y: [number, number] } {
    const { nodes, extent } = this.view;
    const side = extent ?? 1;
    if (this.#isMap || !nodes.length) return { x: [-side, side], y: [-side, side] };
    const xs = nodes.map((node) => node.x);
    const ys = nodes.map((node) => node.y);
    const grow = (low: number, high: number, room: number): [number, number] => {
      const missing = Math.max(room, 12 - (high - low)) / 2;
      return [low - missing, high + missing];
    };
    return { x: grow(Math.min(...xs), Math.max(...xs), 12), y: grow(Math.min(...ys), Math.max(...ys), 3) };
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
    for (const { key, x, y, radius } of this.listHulls()) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.globalAlpha = 0.55;
      context.fillStyle = this.palette.surface;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = key === this.#selected ? 2 : 1;
      context.strokeStyle = key === this.#selected ? this.palette.accent : this.palette.border;
      context.stroke();
    }
    const selected = this.view.nodes[this.#positions.get(this.#selected ?? "") ?? -1];
    if (!selected || selected.is_open) return;
    const mark = this.toViewport(this.placeMark(selected));
    context.beginPath();
    context.arc(mark.x, mark.y, mark.radius + 4, 0, 2 * Math.PI);
    context.lineWidth = 3;
    context.strokeStyle = this.palette.accent;
    context.stroke();
  }

  /** List the circles of opened nodes, in pixels. */
  listHulls(): { key: string; x: number; y: number; radius: number }[] {
    return this.view.nodes
      .filter((node) => node.is_open)
      .map((node) => ({ key: node.key, ...this.toViewport({ x: node.x, y: node.y, size: node.radius }) }));
  }

  toViewport({ x, y, size }: Point & { size: number }): Point & { radius: number } {
    const center = this.sigma.graphToViewport({ x, y });
    const rim = this.sigma.graphToViewport({ x: x + size, y });
    return { ...center, radius: Math.hypot(rim.x - center.x, rim.y - center.y) };
  }
}
