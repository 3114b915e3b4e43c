import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import { type Cell, loadOf } from '../cells.js';
import type { Results, Share } from './text.js';

/** A data point of a plot: a cell with the machine's limit. */
interface Dot {
  workload: string;
  load: string;
  perSecond: number;
  /** Operations per second that the machine's limit would allow; null if it was not measured. */
  most: number | null;
  p50: number;
  p99: number;
  /** Whether p99 is more than five times the median. */
  isUneven: boolean;
}

const width = 620;
const rowStep = 34;
const unevenFrom = 5;

/** Draws speeds and the machine's limits: a dot for each load, a stroke for the limit. */
export const speedPlot = (results: Results, shareOf: (cell: Cell) => Share | null): Promise<string> =>
  draw({
    ...frame(dotsOf(results, shareOf), 'operations a second; the stroke is what the machine’s limit allows'),
    layer: [
      {
        mark: { type: 'tick', thickness: 3, size: 14, color: '#888' },
        encoding: { x: { field: 'most', type: 'quantitative' } },
      },
      {
        mark: { type: 'point', filled: true, size: 60, opacity: 0.9 },
        encoding: {
          x: { field: 'perSecond', type: 'quantitative', scale: { type: 'log' }, title: null },
          color: byLoad,
        },
      },
    ],
  });

/** Draws latencies: one line for each load, from the median to p99. */
export const latencyPlot = (results: Results, shareOf: (cell: Cell) => Share | null): Promise<string> =>
  draw({
    ...frame(dotsOf(results, shareOf), 'milliseconds from p50 to p99; hollow: p99 is more than 5 × p50'),
    layer: [
      {
        mark: { type: 'rule', strokeWidth: 3, opacity: 0.6 },
        encoding: {
          x: { field: 'p50', type: 'quantitative', scale: { type: 'log' }, title: null },
          x2: { field: 'p99' },
          yOffset: { field: 'load' },
          color: byLoad,
        },
      },
      {
        mark: { type: 'point', size: 40 },
        encoding: {
          x: { field: 'p99', type: 'quantitative' },
          yOffset: { field: 'load' },
          color: byLoad,
          fillOpacity: { condition: { test: 'datum.isUneven', value: 0 }, value: 1 },
          fill: byLoad,
        },
      },
    ],
  });

/** Draws what ten times the data costs in CPU time (1: no growth). Returns null without workloads that have sizes. */
export function growthPlot(
  grown: readonly { workload: string; load: string; times: number }[],
): Promise<string> | null {
  if (grown.length === 0) return null;
  return draw({
    ...frame(grown, 'times the CPU with ten times the data; the line is 1.3'),
    layer: [
      { mark: { type: 'rule', color: '#888', strokeDash: [4, 3] }, encoding: { x: { datum: 1.3 }, y: null } },
      {
        mark: { type: 'point', filled: true, size: 60, opacity: 0.9 },
        encoding: {
          x: { field: 'times', type: 'quantitative', scale: { zero: true }, title: null },
          color: byLoad,
        },
      },
    ],
  });
}

const byLoad = {
  field: 'load',
  type: 'nominal',
  title: 'processes, connections',
  legend: { orient: 'top', titleLimit: 300 },
} as const;

const frame = (values: readonly object[], title: string) => ({
  $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
  title: { text: title, anchor: 'start' as const, fontWeight: 'normal' as const },
  data: { values: [...values] },
  width,
  height: { step: rowStep, for: 'position' as const },
  encoding: {
    y: { field: 'workload', type: 'nominal' as const, sort: null, title: null, axis: { grid: true, labelLimit: 300 } },
  },
  config: { font: 'sans-serif', view: { stroke: null } },
});

function dotsOf({ cells }: Results, shareOf: (cell: Cell) => Share | null): Dot[] {
  return cells
    .filter(({ errors, perSecond }) => errors === 0 && perSecond > 0)
    .map((cell) => {
      const share = shareOf(cell)?.ofLimit;
      return {
        workload: cell.workload,
        load: loadOf(cell),
        perSecond: cell.perSecond,
        most: share ? cell.perSecond / share : null,
        p50: cell.p50,
        p99: cell.p99,
        isUneven: cell.p99 > unevenFrom * cell.p50,
      };
    });
}

/** @returns an SVG document */
const draw = (spec: object): Promise<string> =>
  new View(parse(compile(spec as TopLevelSpec).spec), { renderer: 'none' }).toSVG();
