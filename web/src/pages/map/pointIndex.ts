/** Grid over the points: finds the nearest one, and those in a polygon. Coordinates are 0 to 65,535. */

import type { Place } from "./camera";

const CELLS = 256;
const UNITS = 65_536 / CELLS;

export class PointIndex {
  readonly #starts = new Uint32Array(CELLS * CELLS + 1);
  readonly #points: Uint32Array;

  constructor(
    readonly x: Uint16Array,
    readonly y: Uint16Array,
    count: number,
  ) {
    this.#points = new Uint32Array(count);
    for (let point = 0; point < count; point++) this.#starts[this.#cellOf(point) + 1]! += 1;
    for (let cell = 0; cell < CELLS * CELLS; cell++) this.#starts[cell + 1]! += this.#starts[cell]!;
    const next = this.#starts.slice(0, CELLS * CELLS);
    for (let point = 0; point < count; point++) this.#points[next[this.#cellOf(point)]!++] = point;
  }

  /** Find the visible point nearest to a place, at most `radius` away; -1 if there is none. */
  findNearest(place: Place, radius: number, isVisible: (point: number) => boolean): number {
    let best = -1;
    let bestSquare = radius * radius;
    this.#visit(place.x - radius, place.y - radius, place.x + radius, place.y + radius, (point) => {
      const dx = this.x[point]! - place.x;
      const dy = this.y[point]! - place.y;
      const square = dx * dx + dy * dy;
      if (square <= bestSquare && isVisible(point)) {
        best = point;
        bestSquare = square;
      }
    });
    return best;
  }

  /** List the visible points in a polygon, in the order of drawing. */
  listInside(polygon: readonly Place[], isVisible: (point: number) => boolean): Uint32Array {
    const xs = polygon.map(({ x }) => x);
    const ys = polygon.map(({ y }) => y);
    const points: number[] = [];
    this.#visit(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (point) => {
      if (isVisible(point) && isInside(this.x[point]!, this.y[point]!, polygon)) points.push(point);
    });
    return Uint32Array.from(points).sort();
  }

  #cellOf(point: number): number {
    return Math.floor(this.y[point]! / UNITS) * CELLS + Math.floor(this.x[point]! / UNITS);
  }

  #visit(left: number, top: number, right: number, bottom: number, visitor: (point: number) => void): void {
    const [firstColumn, lastColumn] = [toCell(left), toCell(right)];
    for (let row = toCell(top); row <= toCell(bottom); row++) {
      const start = this.#starts[row * CELLS + firstColumn]!;
      const end = this.#starts[row * CELLS + lastColumn + 1]!; // cells of a row are adjacent
      for (let position = start; position < end; position++) visitor(this.#points[position]!);
    }
  }
}

function toCell(coordinate: number): number {
  return Math.min(CELLS - 1, Math.max(0, Math.floor(coordinate / UNITS)));
}

function isInside(x: number, y: number, polygon: readonly Place[]): boolean {
  let inside = false;
  let previous = polygon[polygon.length - 1]!;
  for (const corner of polygon) {
    if (corner.y > y !== previous.y > y && x < ((previous.x - corner.x) * (y - corner.y)) / (previous.y - corner.y) + corner.x)
      inside = !inside;
    previous = corner;
  }
  return inside;
}
