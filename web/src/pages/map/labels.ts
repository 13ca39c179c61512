/** Labels of clusters: the largest first, none over another. */

import { type Camera, type Place, type Size, toScreen } from "./camera";
import { type Cluster, labelCluster } from "./mapData";

export interface Label extends Place {
  cluster: number;
  text: string;
  width: number;
}

const CHAR_WIDTH = 6.6;
const PADDING = 14;
const HEIGHT = 22;
const GAP = 4;
const RING = 11;
/** Corner at the top right that the tools cover. */
const TOOLS: Size = { width: 370, height: 44 };

export function placeLabels(
  clusters: readonly Cluster[],
  camera: Camera,
  size: Size,
  first: number,
  rings: readonly Place[],
): Label[] {
  const placed: Label[] = [];
  const order = clusters.map((_, index) => index);
  if (first >= 0) order.unshift(first);
  for (const index of new Set(order)) {
    const cluster = clusters[index]!;
    const middle = toScreen(camera, size, { x: cluster.x / 65_535, y: cluster.y / 65_535 });
    const text = labelCluster(cluster);
    const width = text.length * CHAR_WIDTH + PADDING;
    const label = { cluster: index, text, width, x: middle.x - width / 2, y: middle.y - HEIGHT / 2 };
    const isUnderTools = label.y < TOOLS.height && label.x + width > size.width - TOOLS.width;
    const isInView = !isUnderTools && label.x >= 0 && label.y >= 0 && label.x + width <= size.width && label.y + HEIGHT <= size.height;
    if (isInView && !placed.some((other) => overlaps(label, other)) && !rings.some((ring) => covers(label, ring))) placed.push(label);
  }
  return placed;
}

/** Find the label at a place. */
export function findLabel(labels: readonly Label[], { x, y }: Place): Label | undefined {
  return labels.find((label) => x >= label.x && x <= label.x + label.width && y >= label.y && y <= label.y + HEIGHT);
}

function covers(label: Label, { x, y }: Place): boolean {
  return x > label.x - RING && x < label.x + label.width + RING && y > label.y - RING && y < label.y + HEIGHT + RING;
}

function overlaps(a: Label, b: Label): boolean {
  return (
    a.x < b.x + b.width + GAP && b.x < a.x + a.width + GAP && a.y < b.y + HEIGHT + GAP && b.y < a.y + HEIGHT + GAP
  );
}
