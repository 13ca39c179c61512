/** Paints the map once a frame: while it moves, as many points as the device draws quickly; at rest, all. */

import { type Camera, choosePointSize, type Size } from "./camera";
import type { PointLayer, PointRenderer } from "./renderer";

const REST_MS = 160;
const MOVING_MS = 30;
/** A picture at rest takes no longer, except on the first time. */
const MAX_AT_REST_MS = 700;
const MIN_MOVING = 20_000;
const MIN_AT_REST = 150_000;

export class Painter {
  /** Points in a frame while the map moves, and at rest; any first points are a sample of all. */
  #moving = 100_000;
  #atRest = Infinity;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly renderer: PointRenderer) {}

  /** Paint in the next frame; `total` is the number of points of the complete map. */
  paint(layer: PointLayer, camera: Camera, size: Size, total: number): void {
    this.#cancel();
    const draw = (count: number) => this.renderer.draw(layer, count, camera, size, choosePointSize(camera, size, total));
    this.#frame = requestAnimationFrame(() => {
      draw(Math.min(layer.count, this.#moving));
      if (layer.count > MIN_MOVING) this.#timer = setTimeout(() => this.#rest(draw, layer.count), REST_MS);
    });
  }

  destroy(): void {
    this.#cancel();
    this.renderer.destroy();
  }

  #cancel(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
  }

  /** Paint all points, and measure how many the device draws in the time of a frame. */
  #rest(draw: (count: number) => void, total: number): void {
    const count = Math.min(total, this.#atRest);
    const started = performance.now();
    draw(count);
    this.renderer.finish();
    const pointsPerMs = count / Math.max(1, performance.now() - started);
    this.#moving = Math.max(MIN_MOVING, pointsPerMs * MOVING_MS);
    this.#atRest = Math.max(MIN_AT_REST, pointsPerMs * MAX_AT_REST_MS);
  }
}
