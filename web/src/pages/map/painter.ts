/** Paints the map once a frame: while it moves, as many points as the device draws quickly; at rest, all. */

import { type Camera, choosePointSize, type Size } from "./camera";
import type { PointLayer, PointRenderer } from "./renderer";

const REST_MS = 160;
const SLOW_MS = 50;
const QUICK_MS = 25;
const FIRST_BUDGET = 100_000;
const MIN_BUDGET = 20_000;
const MIN_AT_REST = 150_000;
/** A picture at rest that takes longer has fewer points the next time. */
const MAX_AT_REST_MS = 600;

export class Painter {
  /** Points in a frame while the map moves; any first points are a sample of all. */
  #budget = FIRST_BUDGET;
  #maxBudget = Infinity;
  #maxAtRest = Infinity;
  #frame = 0;
  #paints = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly renderer: PointRenderer) {}

  /** Paint in the next frame; `total` is the number of points of the complete map. */
  paint(layer: PointLayer, camera: Camera, size: Size, total: number): void {
    this.#cancel();
    const paintNumber = this.#paints;
    const draw = (count: number) => this.renderer.draw(layer, count, camera, size, choosePointSize(camera, size, total));
    this.#frame = requestAnimationFrame((started) => {
      const count = Math.min(layer.count, this.#budget);
      draw(count);
      if (layer.count < MIN_BUDGET) return;
      requestAnimationFrame((now) => {
        this.#adapt(count, now - started);
        const rest = Math.min(layer.count, this.#maxAtRest);
        if (count < rest && paintNumber === this.#paints) this.#timer = setTimeout(() => this.#rest(draw, rest), Math.max(REST_MS, 2 * (now - started)));
      });
    });
  }

  destroy(): void {
    this.#cancel();
    this.renderer.destroy();
  }

  #cancel(): void {
    this.#paints += 1;
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
  }

  #rest(draw: (count: number) => void, count: number): void {
    const started = performance.now();
    draw(count);
    requestAnimationFrame((now) => {
      if (now - started > MAX_AT_REST_MS) this.#maxAtRest = Math.max(MIN_AT_REST, count / 2);
    });
  }

  #adapt(count: number, elapsedMs: number): void {
    if (elapsedMs > SLOW_MS) {
      this.#maxBudget = Math.max(MIN_BUDGET, count * 0.7);
      this.#budget = Math.max(MIN_BUDGET, count / 2);
    } else if (elapsedMs < QUICK_MS) this.#budget = Math.min(this.#maxBudget, this.#budget * 1.5);
  }
}
