import { reportOf } from './faults/report.js';
import { runFaults } from './faults/run.js';

test('under load, with parts of the service killed and halted, nothing acknowledged is lost and nothing happens twice', async () => {
  const run = await runFaults({ seed: 11, ms: 15_000, stopMs: 4_000, say: () => {} });
  if (run.findings.length > 0) throw new Error(reportOf(run));
  expect(run.plan.length).toBeGreaterThan(0);
  expect(run.acknowledged.length).toBeGreaterThan(10);
});
