/** Places of labels: large nodes first, each label where it covers no other label and no node, else none. */

export type LabelPosition = "right" | "left" | "above" | "below";

export interface Mark {
  key: string;
  label: string;
  /** Centre and radius in pixels. */
  x: number;
  y: number;
  radius: number;
  /** Labels of higher rank are placed first. */
  rank: number;
  preferred: LabelPosition;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const CHAR_WIDTH = 6.9; // of a 12 px sans-serif font, on average and a little more
const HEIGHT = 13;
const MARGIN = 5;
const MIN_RADIUS = 1.6;
const CELL = 64;
const MAX_TRIED = 600; // the largest nodes; smaller ones have labels once the picture is enlarged

/** Return where labels are drawn, by key. */
export function placeLabels(marks: readonly Mark[], width: number, height: number): Map<string, LabelPosition> {
  const visible = marks.filter(({ x, y, radius }) => radius >= MIN_RADIUS && x > -radius && x < width + radius && y > -radius && y < height + radius);
  const grid = new BoxGrid();
  for (const { key, x, y, radius } of visible) grid.add(key, { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
  const places = new Map<string, LabelPosition>();
  for (const mark of [...visible].sort((first, second) => second.rank - first.rank).slice(0, MAX_TRIED)) {
    const positions: LabelPosition[] = [mark.preferred, "right", "left", "below", "above"];
    const position = positions.find((candidate) => !grid.isCovered(mark.key, buildBox(mark, candidate)));
    if (!position) continue;
    places.set(mark.key, position);
    grid.add("", buildBox(mark, position));
  }
  return places;
}

function buildBox({ x, y, radius, label }: Mark, position: LabelPosition): Box {
  const width = label.length * CHAR_WIDTH;
  const left = position === "right" ? x + radius + MARGIN : position === "left" ? x - radius - MARGIN - width : x - width / 2;
  const top = position === "above" ? y - radius - MARGIN - HEIGHT : position === "below" ? y + radius + MARGIN : y - HEIGHT / 2;
  return { left, right: left + width, top, bottom: top + HEIGHT };
}

/** Boxes by cell of a grid, so that a label is compared with those around it only. */
class BoxGrid {
  #cells = new Map<number, [string, Box][]>();

  add(key: string, box: Box): void {
    for (const cell of listCells(box)) {
      const boxes = this.#cells.get(cell);
      if (boxes) boxes.push([key, box]);
      else this.#cells.set(cell, [[key, box]]);
    }
  }

  isCovered(key: string, box: Box): boolean {
    return listCells(box).some((cell) =>
      this.#cells.get(cell)?.some(([owner, other]) =>
        owner !== key && box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom));
  }
}

function listCells({ left, right, top, bottom }: Box): number[] {
  const cells: number[] = [];
  const [first, last] = [Math.floor(left / CELL), Math.floor(right / CELL)];
  for (let column = Math.max(first, -20); column <= Math.min(last, 100); column += 1)
    for (let row = Math.max(-20, Math.floor(top / CELL)); row <= Math.min(100, Math.floor(bottom / CELL)); row += 1) cells.push(column * 1_000 + row);
  return cells;
}
