import { percentile } from '../../../bench/percentile.js';
import type { Attempt } from './client.js';
import type { FaultsRun } from './run.js';

/** Returns a report of the run in Markdown. */
export function reportOf(run: FaultsRun): string {
  const { seed, plan, acknowledged, looked, findings, ended, attempts, loadMs, settledMs } = run;
  return [
    `Seed ${seed}: ${plan.length} ${plan.length === 1 ? 'fault' : 'faults'} in ${seconds(loadMs)} of load, looked at within ${seconds(settledMs)} afterwards.`,
    findings.length === 0
      ? 'Nothing acknowledged was lost, nothing happened twice, and every request was answered in time.'
      : `**${findings.length} findings:**\n\n${findings.map((what) => `- ${what}`).join('\n')}`,
    table(['acknowledged', 'times'], acknowledged),
    table(['looked at', 'count'], [...looked, ['refresh families that a longer outage ended', ended.length]]),
    table(
      ['requests', 'count', 'p50 ms', 'slowest ms', 'not answered', '503', 'other refusals'],
      requestRows(attempts),
    ),
    table(
      ['at', 'signal', 'parts', 'gone for'],
      plan.map(({ fromMs, untilMs, signal, parts }) => [
        seconds(fromMs),
        signal,
        parts.join(', '),
        `${((untilMs - fromMs) / 1000).toFixed(1)} s`,
      ]),
    ),
  ].join('\n\n');
}

function requestRows(attempts: readonly Attempt[]): (string | number)[][] {
  const names = [...new Set(attempts.map(({ name }) => name))].sort();
  return names.map((name) => {
    const all = attempts.filter((attempt) => attempt.name === name);
    const times = all.map(({ ms }) => ms);
    const count = (is: (attempt: Attempt) => boolean) => all.filter(is).length;
    return [
      name,
      all.length,
      Math.round(percentile(times, 0.5)),
      Math.max(...times),
      count(({ status }) => typeof status === 'string'),
      count(({ status }) => status === 503),
      count(({ status }) => typeof status === 'number' && status >= 400 && status !== 503),
    ];
  });
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
export const table = (head: string[], lines: readonly (readonly (string | number)[])[]): string =>
  [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
