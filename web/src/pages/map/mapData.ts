/** Data of the map: its description, its points as arrays, and what points stand for. */

import { api, type Schemas, unwrap } from "../../api/client";

export type Description = Schemas["ProjectionReply"];
export type MapInfo = Schemas["ProjectionInfo"];
export type Cluster = Schemas["Cluster"];
export type MapPoint = Schemas["MapPoint"];
export type MapMark = Schemas["MapMark"];
export type FacetName = "language" | "role" | "folder";

const FACETS = ["language", "role", "folder", "cluster"] as const;
const DETAILS_PER_REQUEST = 100;

/** Points of the map. Those that are not loaded yet are at the end. */
export class MapPoints {
  readonly x: Uint16Array;
  readonly y: Uint16Array;
  readonly codes: Record<(typeof FACETS)[number], Uint8Array>;
  loaded = 0;

  constructor(readonly total: number) {
    this.x = new Uint16Array(total);
    this.y = new Uint16Array(total);
    this.codes = {
      language: new Uint8Array(total),
      role: new Uint8Array(total),
      folder: new Uint8Array(total),
      cluster: new Uint8Array(total),
    };
  }

  /** Add a part as the service sends it: x, y, then the codes, each for all its points. */
  add(part: ArrayBuffer): void {
    const count = part.byteLength / 8;
    this.x.set(new Uint16Array(part, 0, count), this.loaded);
    this.y.set(new Uint16Array(part, 2 * count, count), this.loaded);
    FACETS.forEach((name, index) => this.codes[name].set(new Uint8Array(part, (4 + index) * count, count), this.loaded));
    this.loaded += count;
  }

  /** List the first `loaded` points of a cluster. */
  listCluster(cluster: number, loaded: number): Uint32Array {
    const codes = this.codes.cluster;
    const members = new Uint32Array(loaded);
    let size = 0;
    for (let point = 0; point < loaded; point++) if (codes[point] === cluster) members[size++] = point;
    return members.subarray(0, size);
  }
}

export function loadDescription(root: string, signal: AbortSignal): Promise<Description> {
  return unwrap(api.GET("/api/v1/projection", { params: { query: { root } }, signal }));
}

/** Load the points, part by part; `added` is called after each. */
export async function loadPoints(
  description: Description,
  added: (points: MapPoints) => void,
  signal: AbortSignal,
): Promise<void> {
  const { root, generation } = description;
  const points = new MapPoints(description.points);
  for (let part = 0; points.loaded < points.total; part++) {
    const query = { root, generation, part };
    const bytes = await unwrap(
      api.GET("/api/v1/projection/points", { params: { query }, parseAs: "arrayBuffer", signal }),
    );
    if (!bytes.byteLength) return;
    points.add(bytes);
    added(points);
  }
}

export async function loadSimilarity(description: Description, query: string, signal: AbortSignal): Promise<Uint8Array> {
  const body = { root: description.root, generation: description.generation, query };
  return new Uint8Array(
    await unwrap(api.POST("/api/v1/projection/similarity", { body, parseAs: "arrayBuffer", signal })),
  );
}

export async function loadMarks(description: Description, query: string, signal: AbortSignal): Promise<MapMark[]> {
  const body = { root: description.root, generation: description.generation, query, top_k: 20 };
  return (await unwrap(api.POST("/api/v1/projection/marks", { body, signal }))).marks;
}

/** What points stand for; each is asked for once. */
export class PointDetails {
  readonly #known = new Map<number, MapPoint>();

  constructor(readonly description: Description) {}

  get(point: number): MapPoint | undefined {
    return this.#known.get(point);
  }

  async load(points: readonly number[], signal?: AbortSignal): Promise<MapPoint[]> {
    const { root, generation } = this.description;
    const missing = points.filter((point) => !this.#known.has(point));
    for (let start = 0; start < missing.length; start += DETAILS_PER_REQUEST) {
      const body = { root, generation, points: missing.slice(start, start + DETAILS_PER_REQUEST) };
      const reply = await unwrap(api.POST("/api/v1/projection/points", { body, signal: signal ?? null }));
      for (const detail of reply.points) this.#known.set(detail.point, detail);
    }
    return points.flatMap((point) => this.#known.get(point) ?? []);
  }
}

/** Name of a cluster in an address: unlike its number, it outlives a new index. */
export function nameCluster(cluster: Cluster): string {
  return cluster.terms.join("-") || `${cluster.x}-${cluster.y}`;
}

export function labelCluster(cluster: Cluster): string {
  return cluster.terms.join(" · ") || "unnamed";
}
