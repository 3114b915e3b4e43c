import { readFile } from 'node:fs/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** The measured speed of another service at a number of connections: one line of JSON, which may have other members. */
const PeerFigureSchema = Type.Object({
  target: Type.String(),
  workload: Type.String(),
  /** The number of connections. */
  c: Type.Integer({ minimum: 1 }),
  /** Operations per second. */
  rps: Type.Number({ exclusiveMinimum: 0 }),
});
export type PeerFigure = Type.Static<typeof PeerFigureSchema>;

/** Reads a file of such lines. @throws Error that names a line that is no JSON */
export async function readPeerFigures(file: string): Promise<PeerFigure[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.flatMap((line, at) => (line.trim() === '' ? [] : figuresIn(line, `${file}:${at + 1}`)));
}

/** Returns no figures for a line about something else, such as how long a service took to start. */
function figuresIn(line: string, place: string): PeerFigure[] {
  let figure: unknown;
  try {
    figure = JSON.parse(line);
  } catch {
    throw new Error(`${place} is no JSON`);
  }
  if (!Value.Check(PeerFigureSchema, figure)) return [];
  const { target, workload, c, rps } = figure;
  return [{ target, workload, c, rps }];
}

/** Returns the latest figure at 16 connections; null if it was not measured. */
export const perSecondOf = (
  figures: readonly PeerFigure[],
  { target, workload }: Pick<PeerFigure, 'target' | 'workload'>,
): number | null =>
  figures.findLast((one) => one.target === target && one.workload === workload && one.c === 16)?.rps ?? null;
