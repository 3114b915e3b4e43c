import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { projectRoot } from '../../src/platform/root.js';
import { namesAsked } from './metrics.js';

export interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
interface Panel {
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

const read = (path: string) => readFile(join(projectRoot, path), 'utf8');

/** Returns every alert of docs/prometheus/alerts.yml. */
export async function alertRules(): Promise<AlertRule[]> {
  const { groups } = parse(await read('docs/prometheus/alerts.yml')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Returns the panels of the dashboard, its rows among them. */
export async function dashboardPanels(): Promise<Panel[]> {
  return JSON.parse(await read('docs/grafana/gatehouse.json')).panels;
}

/** Returns every expression of the dashboard and of the alerts. */
export async function expressionsWatched(): Promise<string[]> {
  const panels = (await dashboardPanels()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  return [...panels, ...(await alertRules()).map(({ expr }) => expr)];
}

/** Returns every metric that the dashboard or an alert reads. */
export const namesWatched = async (): Promise<string[]> =>
  [...new Set((await expressionsWatched()).flatMap(namesAsked))].sort();
