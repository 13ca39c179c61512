/** The picture as a file: SVG as it is on the screen, PNG of it, Mermaid of all of it. */

import { api, unwrap } from "../../api/client";
import { type Drawing, RING_PIXELS, shorten } from "./drawing";
import { DEFAULT_CONFIDENCE, describeEdge, describePlace, type View } from "./model";

const PNG_SCALE = 2;
const MAX_MERMAID_NODES = 1_000;
const MAX_MERMAID_EDGES = 3_000;

export function renderSvg(drawing: Drawing): string {
  const { width, height } = drawing.sigma.getDimensions();
  const { palette, view } = drawing;
  const marks = view.nodes.map((node) => drawing.toViewport(drawing.placeMark(node)));
  const isVisible = ({ x, y, radius }: { x: number; y: number; radius: number }) =>
    x + radius > 0 && x - radius < width && y + radius > 0 && y - radius < height;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${palette.background}"/>`,
  ];
  for (const { x, y, radius, isSelected } of drawing.listHulls()) {
    const stroke = isSelected ? `stroke="${palette.accent}" stroke-width="2"` : `stroke="${palette.border}"`;
    parts.push(`<circle cx="${trim(x)}" cy="${trim(y)}" r="${trim(radius)}" fill="${palette.surface}" ${stroke}/>`);
  }
  for (const edge of view.edges) {
    const [start, end] = [marks[edge.source], marks[edge.target]];
    if (!start || !end || !(isVisible(start) || isVisible(end))) continue;
    const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
    const share = Math.max(0, 1 - end.radius / length);
    const tip = { x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share };
    const title = escapeXml(describeEdge(edge));
    parts.push(
      `<line x1="${trim(start.x)}" y1="${trim(start.y)}" x2="${trim(tip.x)}" y2="${trim(tip.y)}" stroke="${palette.ofEdge(edge)}" stroke-opacity="0.5"><title>${title}</title></line>`,
      `<path d="${arrow(start, tip)}" fill="${palette.ofEdge(edge)}" fill-opacity="0.7"/>`,
    );
  }
  view.nodes.forEach((node, index) => {
    const mark = marks[index]!;
    if (!isVisible(mark)) return;
    const title = escapeXml(`${node.kind} ${describePlace(node)}`);
    parts.push(`<circle cx="${trim(mark.x)}" cy="${trim(mark.y)}" r="${trim(mark.radius)}" fill="${drawing.findColor(node)}"><title>${title}</title></circle>`);
    const position = drawing.findLabel(node.key);
    if (!position) return;
    const reach = mark.radius + 5;
    const x = position === "right" ? mark.x + reach : position === "left" ? mark.x - reach : mark.x;
    const y = position === "above" ? mark.y - reach : position === "below" ? mark.y + reach + 10 : mark.y + 4;
    const anchor = position === "right" ? "start" : position === "left" ? "end" : "middle";
    parts.push(`<text x="${trim(x)}" y="${trim(y)}" text-anchor="${anchor}" fill="${palette.text}">${escapeXml(shorten(node.label))}</text>`);
  });
  const ring = drawing.findRing();
  if (ring)
    parts.push(
      `<circle class="subject" cx="${trim(ring.x)}" cy="${trim(ring.y)}" r="${trim(ring.radius)}" fill="none" stroke="${palette.accent}" stroke-width="${RING_PIXELS}"/>`,
    );
  return `${parts.join("\n")}\n</svg>\n`;
}

export async function renderPng(drawing: Drawing): Promise<Blob> {
  const { width, height } = drawing.sigma.getDimensions();
  const address = URL.createObjectURL(new Blob([renderSvg(drawing)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(width * PNG_SCALE, height * PNG_SCALE);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Return a Mermaid flow chart of a view; opened nodes are left out, as their content is drawn. */
export async function renderMermaid(view: View, subject: string): Promise<string> {
  const drawn = view.nodes.map((node, index) => ({ node, index })).filter(({ node }) => !node.is_open).slice(0, MAX_MERMAID_NODES);
  const numbers = new Map(drawn.map(({ index }, number) => [index, number]));
  const edges = view.edges
    .filter(({ source, target }) => numbers.has(source) && numbers.has(target))
    .slice(0, MAX_MERMAID_EDGES)
    .map((edge) => ({
      source: numbers.get(edge.source)!,
      target: numbers.get(edge.target)!,
      label: describeEdge(edge),
      is_resolved: edge.confidence >= DEFAULT_CONFIDENCE,
    }));
  const nodes = drawn.map(({ node }) => ({
    lines: [`${node.kind} ${node.label}`.slice(0, 1_000), describePlace(node).slice(0, 1_000)].filter((line, index) => index === 0 || !line.endsWith(node.label)),
    is_marked: node.key === subject,
  }));
  return (await unwrap(api.POST("/api/v1/graph/view/mermaid", { body: { nodes, edges } }))).text;
}

export function download(content: string | Blob, name: string, type: string): void {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function arrow(start: { x: number; y: number }, tip: { x: number; y: number }): string {
  const angle = Math.atan2(tip.y - start.y, tip.x - start.x);
  const corner = (side: number) => `${trim(tip.x - 6 * Math.cos(angle + side))} ${trim(tip.y - 6 * Math.sin(angle + side))}`;
  return `M${trim(tip.x)} ${trim(tip.y)}L${corner(0.4)}L${corner(-0.4)}Z`;
}

function trim(value: number): string {
  return value.toFixed(1);
}

function escapeXml(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/[^\t\n\r\u0020-\uFFFD]/g, "�"); // characters that no XML may have
}
