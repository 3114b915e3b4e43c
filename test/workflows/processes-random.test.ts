import { days, hours, minutes } from '../../src/platform/clock.js';
import {
  differences,
  isOpen,
  type Row,
  type Subject,
  takeLate,
  takeSteps,
} from '../support/process-histories/subject.js';
import { newSubjects } from '../support/process-histories/subjects.js';
import { type ProcessWorld, startProcessWorld } from '../support/process-histories/world.js';
import { createRandom } from '../support/random.js';
import { byWeight, live, seedsOf } from '../support/random-histories.js';

/**
 * Random histories of everything that waits for a person or a clock, several at once, by people, support and time, while
 * workers and the relay come and go and results of steps are lost. Compared with the rules in their plainest form: what
 * has which state, what is recorded and mailed when its time comes, and that a workflow runs for each open row and for
 * no other. Workflows have the test's clock, so that days pass at once.
 */

let world: ProcessWorld;
beforeAll(async () => {
  world = await startProcessWorld();
});
afterAll(() => world.stop());

const weathers = byWeight([
  [3, 'all is well'],
  [2, 'no worker while people act'],
  [4, 'no worker while time passes'],
  [2, 'no relay while people act'],
  [1, 'results are lost'],
] as const);
const passing = byWeight([
  [3, minutes(5)],
  [2, hours(1)],
  [3, hours(5)],
  [1, hours(19)],
  [2, days(1)],
  [2, days(3)],
  [4, days(6)],
]);

/** When the last of what somebody may come too late for has ended. */
const endOf = (subjects: readonly Subject[]): number =>
  Math.max(
    ...subjects.flatMap(({ late, rows }) => (late ? rows.filter(isOpen) : [])).map(({ deadline = 0 }) => deadline),
  );

test.each(seedsOf(184))('in every history, processes do what their rows say: %i', async (seed) => {
  const random = createRandom(seed);
  const all = await newSubjects(world, seed);
  const subjects = all.map(({ subject }) => subject);
  const rows = (which: (row: Row, fromEnd: number) => boolean) =>
    subjects.flatMap((subject) => subject.rows.filter((row, i) => which(row, subject.rows.length - i)));

  await live(seed, 9, async (tell) => {
    const weather = random.of(weathers);
    tell(weather);
    if (weather === 'no worker while people act') await world.stopWorkers();
    if (weather === 'no relay while people act') await world.stopRelay();
    if (weather === 'results are lost') world.loseResults(createRandom(seed));
    const before = rows(isOpen);
    const steps = await Promise.all(all.map(({ subject, own }) => takeSteps(world, own, subject)));
    for (const line of steps.flat()) tell(line);
    const watched = [
      ...new Set([...before, ...rows((_, fromEnd) => fromEnd <= 4)].map(({ workflowId }) => workflowId)),
    ];
    world.startWorkers();
    world.startRelay();
    if (steps.flat().some((line) => line.startsWith('terminate'))) await world.heal(); // what else is lost stays so
    await world.untilAtRest(watched);

    if (weather === 'no worker while time passes') await world.stopWorkers();
    const isUntilEnd = !world.isWorking() && random.below(2) === 0;
    const ms = isUntilEnd ? Math.max(minutes(5), endOf(subjects) - world.now()) : random.of(passing);
    tell(`${ms / hours(1)} hours pass`);
    await world.pass(ms, watched);
    for (const subject of subjects) subject.passes();
    if (!world.isWorking()) await Promise.all(subjects.map(takeLate));
    world.startWorkers();
    await world.untilAtRest(watched);
    world.loseResults(null);
    expect(await differences(world, subjects, new Set(watched))).toEqual([]);
  });
  const sent = world.mails.map(({ messageId }) => messageId);
  expect(sent.filter((id, n) => sent.indexOf(id) !== n)).toEqual([]);
});
