import { escapeMarkup } from '../../src/platform/markup.js';
import type { Frame } from './frames.js';
import type { Owner } from './places.js';

const width = 1000;
const rowHeight = 15;
const headHeight = 52;
const characterWidth = 6.03; // monospace at 10 px
/** Narrower frames are drawn together with their neighbours, or not at all. */
const narrowest = 0.005;
const maxBytes = 60_000;

const colors: Record<Owner, string> = { project: '#f6b26b', package: '#ffe0a3', node: '#b8d4ea', v8: '#d5d5d5' };
const owners: Record<Owner, string> = {
  project: 'the project',
  package: 'packages',
  node: 'Node.js',
  v8: 'V8 and native code',
};

/**
 * Returns a flame graph as one SVG document without scripts: each frame is above its caller and as wide as its share of
 * the samples, the largest first; its title gives the details.
 */
export function flameSvg(root: Frame, { title, caption }: { title: string; caption: string }): string {
  for (let least = narrowest; ; least *= 1.2) {
    const svg = drawn(root, least, title, caption);
    if (Buffer.byteLength(svg) <= maxBytes) return svg;
  }
}

interface Box {
  frame: Pick<Frame, 'name' | 'place' | 'owner' | 'samples' | 'own'>;
  /** The left edge, from 0 to 1. */
  left: number;
  level: number;
}

function drawn(root: Frame, least: number, title: string, caption: string): string {
  const boxes: Box[] = [];
  place(root, 0, 0, root.samples * least, root.samples, boxes);
  const levels = Math.max(...boxes.map(({ level }) => level)) + 1;
  const height = headHeight + levels * rowHeight + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<style>.f text{font:10px monospace}.f rect{stroke:#fff;stroke-width:.5}${css}</style>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="4" y="15" font-size="14">${escapeMarkup(title)}</text><text x="4" y="31" fill="#555">${escapeMarkup(caption)}</text>`,
    legend(),
    '<g class="f">',
    ...boxes.map((box) => boxSvg(box, root.samples, height)),
    '</g></svg>\n',
  ].join('\n');
}

/** @param least the fewest samples for which a frame is drawn by itself */
function place(frame: Frame, left: number, level: number, least: number, all: number, boxes: Box[]): void {
  boxes.push({ frame, left, level });
  const wide = frame.children.filter(({ samples }) => samples >= least);
  let at = left;
  for (const child of wide) {
    place(child, at, level + 1, least, all, boxes);
    at += child.samples / all;
  }
  const narrow = frame.children.slice(wide.length);
  const samples = narrow.reduce((sum, child) => sum + child.samples, 0);
  if (narrow.length === 0 || samples < least) return;
  const owner = narrow[0]!.owner;
  boxes.push({
    frame: { name: `… ${narrow.length} others`, place: '', owner, samples, own: 0 },
    left: at,
    level: level + 1,
  });
}

function boxSvg({ frame, left, level }: Box, all: number, height: number): string {
  const x = round(left * width);
  const y = height - (level + 1) * rowHeight - 2;
  const wide = (frame.samples / all) * width;
  const percent = (samples: number) => `${((samples / all) * 100).toFixed(1)} %`;
  const own = frame.own > 0 ? `, itself ${percent(frame.own)}` : '';
  const full = `${frame.name}${frame.place && ` ${frame.place}`}: ${percent(frame.samples)}${own}`;
  const text = fitting(frame, Math.floor((wide - 4) / characterWidth));
  const rect = `<rect class="${frame.owner}" x="${x}" y="${y}" width="${round(wide)}" height="${rowHeight}"/>`;
  const label = text && `<text x="${round(left * width + 2)}" y="${y + 11}">${escapeMarkup(text)}</text>`;
  return `<g><title>${escapeMarkup(full)}</title>${rect}${label}</g>`;
}

/** Returns as much of name and place as fits. */
function fitting({ name, place }: Pick<Frame, 'name' | 'place'>, characters: number): string {
  const whole = place ? `${name} ${place}` : name;
  if (whole.length <= characters) return whole;
  if (name.length <= characters) return name;
  return characters >= 4 ? `${name.slice(0, characters - 1)}…` : '';
}

const css = Object.entries(colors)
  .map(([owner, color]) => `.${owner}{fill:${color}}`)
  .join('');

const legend = (): string =>
  Object.entries(owners)
    .map(
      ([owner, name], i) =>
        `<rect class="${owner}" x="${4 + i * 110}" y="38" width="10" height="10"/><text x="${18 + i * 110}" y="47">${name}</text>`,
    )
    .join('');

const round = (value: number): number => Math.round(value * 10) / 10;
