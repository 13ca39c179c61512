/** Pointer gestures on the map: drag to pan, wheel or pinch to zoom, drag with Shift or the tool to draw a lasso. */

import type { Place } from "./camera";

export interface GestureHandlers {
  isLassoing: () => boolean;
  pan: (dx: number, dy: number) => void;
  zoom: (factor: number, around: Place) => void;
  hover: (place: Place | null) => void;
  /** A click or tap without a drag. */
  press: (place: Place, isTouch: boolean) => void;
  /** The lasso while it is drawn, and once more when it ends. */
  lasso: (line: readonly Place[], isEnd: boolean) => void;
}

const MIN_DRAG = 4;
const MIN_LASSO_STEP = 3;

/** Attach gestures to an element; return the function that removes them. */
export function attachGestures(element: HTMLElement, handlers: GestureHandlers): () => void {
  const pointers = new Map<number, Place>();
  let start: Place | null = null;
  let line: Place[] | null = null;
  let isDragging = false;

  const locate = (event: MouseEvent): Place => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };

  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    const place = locate(event);
    pointers.set(event.pointerId, place);
    start = place;
    isDragging = pointers.size > 1;
    line = pointers.size === 1 && (event.shiftKey || handlers.isLassoing()) ? [place] : null;
  };

  const move = (event: PointerEvent) => {
    const place = locate(event);
    const previous = pointers.get(event.pointerId);
    if (!previous || !start) return handlers.hover(place);
    isDragging ||= measure(start, place) > MIN_DRAG;
    if (pointers.size === 2) pinch(event.pointerId, previous, place);
    else if (line) {
      if (measure(line[line.length - 1]!, place) >= MIN_LASSO_STEP) line.push(place);
      handlers.lasso(line, false);
    } else if (isDragging) {
      handlers.hover(null);
      handlers.pan(place.x - previous.x, place.y - previous.y);
    } else return;
    pointers.set(event.pointerId, place);
  };

  const pinch = (id: number, previous: Place, place: Place) => {
    const other = [...pointers].find(([key]) => key !== id)?.[1];
    if (!other) return;
    const middle = { x: (place.x + other.x) / 2, y: (place.y + other.y) / 2 };
    handlers.zoom(measure(place, other) / Math.max(1, measure(previous, other)), middle);
    handlers.pan((place.x - previous.x) / 2, (place.y - previous.y) / 2);
  };

  const end = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId)) return;
    if (line) handlers.lasso(isDragging && event.type === "pointerup" ? line : [], true);
    else if (!isDragging && event.type === "pointerup") handlers.press(locate(event), event.pointerType === "touch");
    line = null;
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    handlers.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), locate(event));
  };

  const leave = () => handlers.hover(null);
  element.addEventListener("pointerdown", begin);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("pointerleave", leave);
  element.addEventListener("wheel", wheel, { passive: false });
  return () => {
    element.removeEventListener("pointerdown", begin);
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", end);
    element.removeEventListener("pointercancel", end);
    element.removeEventListener("pointerleave", leave);
    element.removeEventListener("wheel", wheel);
  };
}

function measure(a: Place, b: Place): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
