/** Colours of points: a slot for each value of a facet, or a scale of similarity. */

import { readColor } from "../../state/theme.svelte";
import type { FacetName, MapInfo, MapPoints } from "./mapData";

export interface LegendEntry {
  slot: number;
  name: string;
  count: number;
  /** Colour of the style sheet. */
  color: string;
}

const SERIES = 8;
const OTHER_COLOR = "--muted";
const SLOTS = 256;

/** Build the legend of a facet: its commonest values, and the rest together. */
export function buildLegend(info: MapInfo, facet: FacetName): LegendEntry[] {
  const values = info.facets[facet] ?? [];
  const named = values.slice(0, values.length > SERIES + 1 ? SERIES : SERIES + 1);
  const entries = named.map(({ name, count }, slot) => ({
    slot,
    name,
    count,
    color: slot < SERIES && name !== "other" ? `--series-${slot + 1}` : OTHER_COLOR,
  }));
  const rest = values.slice(named.length).reduce((sum, { count }) => sum + count, 0);
  if (rest) entries.push({ slot: entries.length, name: `${values.length - named.length} others`, count: rest, color: OTHER_COLOR });
  return entries;
}

/** Return the slot of each point for a facet. */
export function buildSlots(points: MapPoints, loaded: number, facet: FacetName, legend: readonly LegendEntry[]): Uint8Array {
  const last = Math.max(0, legend.length - 1);
  const codes = points.codes[facet];
  const slots = new Uint8Array(points.total);
  for (let point = 0; point < loaded; point++) slots[point] = Math.min(codes[point]!, last);
  return slots;
}

export function buildPalette(legend: readonly LegendEntry[], hidden: ReadonlySet<string>): Uint8Array {
  const palette = new Uint8Array(SLOTS * 4);
  for (const { slot, name, color } of legend)
    if (!hidden.has(name)) palette.set([...parseColor(readColor(color)), color === OTHER_COLOR ? 120 : 205], slot * 4);
  return palette;
}

/** Build the scale of similarity: from faint to the accent, and to a warm colour for the most similar. */
export function buildScale(): Uint8Array {
  const [low, middle, high] = ["--muted", "--accent", "--series-5"].map((name) => parseColor(readColor(name)));
  const palette = new Uint8Array(SLOTS * 4);
  for (let slot = 0; slot < SLOTS; slot++) {
    const share = slot / (SLOTS - 1);
    const [from, to, part] = share < 0.6 ? [low!, middle!, share / 0.6] : [middle!, high!, (share - 0.6) / 0.4];
    palette.set([...from.map((value, index) => value + (to[index]! - value) * part), 40 + 215 * share], slot * 4);
  }
  return palette;
}

function parseColor(text: string): [number, number, number] {
  const value = Number.parseInt(text.slice(1, 7), 16);
  return Number.isNaN(value) ? [128, 128, 128] : [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
