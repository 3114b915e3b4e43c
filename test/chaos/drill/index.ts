import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { table } from '../faults/report.js';
import { type DrillRun, runDrill } from './run.js';

const usage = `npm run drill -- [--seconds N] [--report FILE]

  --seconds N    how long there is load before the backup, and again after it; 10 unless said otherwise
  --report FILE  writes the report there too, which is Markdown`;

const say = (line: string) => process.stderr.write(`${line}\n`);

const reportOf = ({ restoredMs, readyMs, refusal, findings, acknowledged, looked }: DrillRun): string =>
  [
    `PostgreSQL was there again after ${(restoredMs / 1000).toFixed(1)} s, api and worker after ${(readyMs / 1000).toFixed(1)} s.`,
    `With other master keys: \`${refusal}\``,
    findings.length === 0
      ? 'Everything that was acknowledged before the moment is there and went on, once; nothing of what came later is.'
      : `**${findings.length} findings:**\n\n${findings.map((what) => `- ${what}`).join('\n')}`,
    table(['acknowledged', 'times'], acknowledged),
    table(['looked at', 'count'], looked),
  ].join('\n\n');

try {
  const { seconds, report } = parseArgs({
    options: { seconds: { type: 'string' }, report: { type: 'string' } },
  }).values;
  const loadMs = Number(seconds ?? 10) * 1000;
  if (!(loadMs > 0)) throw new Error(usage);
  const run = await runDrill({ loadMs, say });
  const text = reportOf(run);
  process.stdout.write(`${text}\n`);
  if (report) await writeFile(report, `${text}\n`);
  process.exitCode = run.findings.length > 0 || !run.refusal.startsWith('MASTER_KEYS') ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
process.exit();
