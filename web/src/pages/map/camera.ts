/** View of the map: what is in the middle, and how large. The map is a square from 0 to 1, y downwards. */

export interface Camera {
  /** Point of the map in the middle of the view. */
  x: number;
  y: number;
  /** Pixels for the width of the map. */
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

const MAX_ZOOM = 400;

/** Show all of the map. */
export function fitMap({ width, height }: Size): Camera {
  return { x: 0.5, y: 0.5, scale: Math.max(1, Math.min(width, height)) };
}

/** Show a part of the map, with a margin. */
export function fitBox(low: Place, high: Place, size: Size): Camera {
  const extent = Math.max(high.x - low.x, high.y - low.y, 0.02) * 1.3;
  return { x: (low.x + high.x) / 2, y: (low.y + high.y) / 2, scale: Math.min(size.width, size.height) / extent };
}

export function toScreen(camera: Camera, size: Size, place: Place): Place {
  return {
    x: (place.x - camera.x) * camera.scale + size.width / 2,
    y: (place.y - camera.y) * camera.scale + size.height / 2,
  };
}

export function toMap(camera: Camera, size: Size, place: Place): Place {
  return {
    x: (place.x - size.width / 2) / camera.scale + camera.x,
    y: (place.y - size.height / 2) / camera.scale + camera.y,
  };
}

/** Move by pixels; the middle stays on the map. */
export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: clamp(camera.x - dx / camera.scale, 0, 1), y: clamp(camera.y - dy / camera.scale, 0, 1) };
}

/** Zoom by a factor; the place under a pixel stays there. */
export function zoom(camera: Camera, size: Size, factor: number, around?: Place): Camera {
  const base = fitMap(size).scale;
  const scale = clamp(camera.scale * factor, base * 0.7, base * MAX_ZOOM);
  const pixel = around ?? { x: size.width / 2, y: size.height / 2 };
  const fixed = toMap(camera, size, pixel);
  return {
    x: clamp(fixed.x - (pixel.x - size.width / 2) / scale, 0, 1),
    y: clamp(fixed.y - (pixel.y - size.height / 2) / scale, 0, 1),
    scale,
  };
}

/** Choose the diameter of points in pixels: small on the whole map, larger in a part of it. */
export function choosePointSize(camera: Camera, size: Size, count: number): number {
  const crowd = Math.sqrt((size.width * size.height) / Math.max(1, count)) * 0.55;
  return clamp(crowd * Math.sqrt(camera.scale / fitMap(size).scale), 2.2, 11);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
