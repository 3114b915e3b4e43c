import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { reportOf } from './report.js';
import { runUpgrade } from './run.js';
import { buildVersion, builtVersion, previousCommit, thisVersion } from './versions.js';

const usage = `npm run upgrade -- [--from REVISION | --from FOLDER] [--seconds N] [--report FILE]

  --from           the version that is upgraded, a revision of the repository or a folder in which one is built;
                   the last commit with fewer migrations, unless said otherwise
  --seconds N      how long each of the eight phases goes on; 10 unless said otherwise
  --report FILE    writes the report there too, which is Markdown`;

const say = (line: string) => process.stderr.write(`${line}\n`);

try {
  const { from, seconds, report } = parseArgs({
    options: { from: { type: 'string' }, seconds: { type: 'string' }, report: { type: 'string' } },
  }).values;
  const phaseMs = Number(seconds ?? 10) * 1000;
  if (!(phaseMs > 0)) throw new Error(usage);
  const before = builtVersion(from ?? '') ?? (await buildVersion(from ?? (await previousCommit()), say));
  try {
    const run = await runUpgrade({ from: before, to: thisVersion, phaseMs, say });
    const text = reportOf(run);
    process.stdout.write(`${text}\n`);
    if (report) await writeFile(report, `${text}\n`);
    process.exitCode = run.findings.length > 0 ? 1 : 0;
  } finally {
    await before.remove();
  }
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
process.exit();
