import { percentile } from '../../../bench/percentile.js';
import { table } from '../faults/report.js';
import type { UpgradeRun } from './run.js';

/** Returns a report of the run in Markdown. */
export function reportOf({ from, migrations, phases, attempts, acknowledged, looked, crossed, findings }: UpgradeRun) {
  return [
    `From ${from.title} over ${migrations.length} migrations: ${migrations.join(', ') || 'none'}.`,
    findings.length === 0
      ? 'Nobody was refused or went without an answer, nothing acknowledged was lost, and nothing happened twice.'
      : `**${findings.length} findings:**\n\n${findings.map((what) => `- ${what}`).join('\n')}`,
    table(
      ['phase', 'seconds', 'requests', 'p50 ms', 'slowest ms', 'not answered', '503', 'other 5xx'],
      phases.map(({ title, from: start, until }) => {
        const all = attempts.filter(({ startedAt }) => startedAt >= start && startedAt < until);
        const times = all.map(({ ms }) => ms);
        const statuses = all.map(({ status }) => status);
        return [
          title,
          Math.round((until - start) / 1000),
          all.length,
          Math.round(percentile(times, 0.5)),
          Math.max(0, ...times),
          statuses.filter((status) => typeof status === 'string').length,
          statuses.filter((status) => status === 503).length,
          statuses.filter((status) => typeof status === 'number' && status >= 500 && status !== 503).length,
        ];
      }),
    ),
    table(
      ['workflows of', 'begun by the old, gone on with by the new', 'the other way round'],
      crossed.map(({ kind, toNew, toOld }) => [kind, toNew, toOld]),
    ),
    table(['acknowledged', 'times'], acknowledged),
    table(['looked at', 'count'], looked),
  ].join('\n\n');
}
