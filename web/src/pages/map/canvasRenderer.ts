/** Draws points on a plain canvas, for browsers without WebGL2. */

import type { Camera, Size } from "./camera";
import { type PointLayer, type PointRenderer, resize } from "./renderer";

const SLOTS = 256;
const DIM_ALPHA = 0.16;
/** Points that are drawn at most; any first points are a sample of all. */
const MAX_POINTS = 150_000;

export class CanvasRenderer implements PointRenderer {
  constructor(readonly canvas: HTMLCanvasElement) {}

  draw(layer: PointLayer, count: number, camera: Camera, size: Size, pointSize: number): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const ratio = resize(this.canvas, size);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const side = pointSize * ratio;
    for (const isSelected of layer.selected.length ? [false, true] : [true]) {
      for (const [slot, points] of groupBySlot(layer, Math.min(count, MAX_POINTS), isSelected)) {
        const [red, green, blue, alpha] = layer.palette.subarray(4 * slot, 4 * slot + 4);
        if (!alpha) continue;
        context.fillStyle = `rgb(${red} ${green} ${blue} / ${(alpha / 255) * (isSelected ? 1 : DIM_ALPHA)})`;
        for (const point of points) {
          const x = (layer.x[point]! / 65_535 - camera.x) * camera.scale + size.width / 2;
          const y = (layer.y[point]! / 65_535 - camera.y) * camera.scale + size.height / 2;
          if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
          context.fillRect(x * ratio - side / 2, y * ratio - side / 2, side, side);
        }
      }
    }
  }

  finish(): void {}

  destroy(): void {
    this.canvas.width = this.canvas.height = 0;
  }
}

function groupBySlot(layer: PointLayer, count: number, isSelected: boolean): [number, number[]][] {
  const groups: number[][] = Array.from({ length: SLOTS }, () => []);
  for (let point = 0; point < count; point++)
    if (!layer.selected.length || Boolean(layer.selected[point]) === isSelected) groups[layer.slots[point]!]!.push(point);
  return groups.map((points, slot): [number, number[]] => [slot, points]).filter(([, points]) => points.length > 0);
}
