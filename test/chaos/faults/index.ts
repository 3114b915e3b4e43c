import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { reportOf } from './report.js';
import { runFaults } from './run.js';

const usage = `npm run chaos -- [--minutes N] [--seed N] [--report FILE]

  --minutes N    for how long parts are killed and halted; 5 unless said otherwise
  --without-temporal N
                 instead, Temporal is away for N minutes under a light load, and nothing else fails
  --seed N       decides what is done when; a random one unless said otherwise, and the report names it
  --report FILE  writes the report there too, which is Markdown`;

const say = (line: string) => process.stderr.write(`${line}\n`);

try {
  const type = 'string';
  const options = { minutes: { type }, 'without-temporal': { type }, seed: { type }, report: { type } } as const;
  const { minutes, 'without-temporal': away, seed, report } = parseArgs({ options }).values;
  const chosen = { minutes: Number(away ?? minutes ?? 5), seed: Number(seed ?? Math.floor(Math.random() * 1e6)) };
  if (!(chosen.minutes > 0) || !Number.isInteger(chosen.seed)) throw new Error(usage);
  const run = await runFaults({
    seed: chosen.seed,
    ms: chosen.minutes * 60_000,
    stopMs: 20_000,
    isOutage: away !== undefined,
    say,
  });
  const text = reportOf(run);
  process.stdout.write(`${text}\n`);
  if (report) await writeFile(report, `${text}\n`);
  process.exitCode = run.findings.length > 0 ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
process.exit();
