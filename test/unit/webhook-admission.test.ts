import { admissionLimits, createAdmission, type Entry } from '../../src/domain/webhooks/admission.js';
import { minutes, seconds } from '../../src/platform/clock.js';

function world() {
  let at = 1_000_000;
  const admission = createAdmission({ nowMs: () => at });
  const admitted = (id: string, count: number) =>
    Array.from({ length: count }, () => admission.enter(id)).filter((entry) => entry.admitted);
  return {
    admission,
    admitted,
    pass: (ms: number) => {
      at += ms;
    },
    /** Makes a call that takes so long. */
    call(id: string, ms: number, answered = true) {
      const entry = admission.enter(id);
      at += ms;
      if (entry.admitted) entry.leave(answered);
      return entry;
    },
  };
}
const waitOf = (entry: Entry) => (entry.admitted ? 0 : entry.waitMs);
const { first, max, ofAccount, slowAfterMs, slowOfAccount, slowTogether } = admissionLimits;

test('a receiver starts with a few calls at once, and gets more with each quick answer', () => {
  const { admitted, call } = world();
  expect(admitted('new', 100)).toHaveLength(first);
  for (let i = 0; i < 3; i++) call('known', 50);
  expect(admitted('known', 100)).toHaveLength(first + 3);
  for (let i = 0; i < 50; i++) call('old', 50);
  expect(admitted('old', 100)).toHaveLength(max);
});

test('a receiver that is slow or does not answer is called once at a time, until it answers quickly', () => {
  const { admitted, call } = world();
  call('slow', seconds(15), false);
  const [entry, ...more] = admitted('slow', 10);
  expect(more).toEqual([]);
  if (entry?.admitted) entry.leave(true);
  expect(admitted('slow', 10)).toHaveLength(2);
});

test('all receivers of an Account together have half of a worker, however many and new they are', () => {
  const { admission } = world();
  const enter = (accountId: string) =>
    Array.from({ length: 400 }, (_, i) => admission.enter(`${accountId}/${i}`, accountId));
  const isAdmitted = (entry: Entry) => entry.admitted;
  const greedy = enter('greedy');
  expect(greedy.filter(isAdmitted)).toHaveLength(admissionLimits.ofAccount);
  expect(admission.enter('other/1', 'other').admitted).toBe(true);
  for (const entry of greedy) if (entry.admitted) entry.leave(true);
  expect(enter('greedy').filter(isAdmitted)).toHaveLength(admissionLimits.ofAccount);
});

test('a refused connection ends at once, and makes no receiver slow', () => {
  const { admitted, call } = world();
  for (let i = 0; i < 100; i++) call('closed', 2, false);
  expect(admitted('closed', 10)).toHaveLength(first);
});

test('a receiver is called whatever others do', () => {
  const { admission, admitted, call } = world();
  for (let i = 0; i < 1_000; i++) call(`dead ${i}`, seconds(15), false);
  const entries = Array.from({ length: 1_000 }, (_, i) => admission.enter(`dead ${i}`));
  expect(entries.filter((entry) => entry.admitted)).toHaveLength(slowTogether);
  expect(admitted('healthy', 10)).toHaveLength(first);
  for (const entry of entries) if (entry.admitted) entry.leave(false);
  expect(admission.enter('dead 999').admitted).toBe(true);
});

test('slow receivers of one Account have half of the room for slow ones, and wait for their turn among themselves', () => {
  const { admission, pass } = world();
  const receivers = Array.from({ length: 1_000 }, (_, i) => `dead ${i}`);
  for (const id of [...receivers, 'theirs']) {
    const entry = admission.enter(id, id === 'theirs' ? 'other' : 'greedy');
    pass(seconds(15));
    if (entry.admitted) entry.leave(false);
  }
  const entries = receivers.map((id) => admission.enter(id, 'greedy'));
  expect(entries.filter(({ admitted }) => admitted)).toHaveLength(slowOfAccount);
  expect(admission.enter('theirs', 'other').admitted).toBe(true);
  // It is not known yet how long theirs take: 40 ms apart.
  const waits = entries.filter(({ admitted }) => !admitted).map(waitOf);
  expect(waits.at(-1)).toBeCloseTo((waits.length * slowAfterMs) / slowOfAccount, -1);
  pass(seconds(15));
  for (const entry of entries) if (entry.admitted) entry.leave(false);
  const again = receivers.map((id) => waitOf(admission.enter(id, 'greedy')));
  expect(Math.max(...again)).toBeGreaterThan(minutes(4));
});

test('new receivers without room in their Account do not retry soon, though none is slow yet', () => {
  const { admission } = world();
  const entries = Array.from({ length: 1_000 }, (_, i) => admission.enter(`new ${i}`, 'greedy'));
  const waits = entries.filter(({ admitted }) => !admitted).map(waitOf);
  expect(waits).toHaveLength(1_000 - ofAccount);
  expect(waits.at(-1)).toBeCloseTo((waits.length * slowAfterMs) / ofAccount, -1);
});

test('a call that was admitted and not made changes nothing', () => {
  const { admission, admitted, call } = world();
  call('dead', seconds(15), false);
  const entry = admission.enter('dead');
  if (entry.admitted) entry.leave(null); // at once
  expect(admitted('dead', 10)).toHaveLength(1);
});

test('waiting deliveries get different moments, as far apart as calls usually take', () => {
  const { admission, admitted } = world();
  admitted('busy', first);
  const waits = Array.from({ length: 200 }, () => waitOf(admission.enter('busy')));
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(waits[0]).toBe(admissionLimits.minWaitMs);
  expect(waits.at(-1)).toBeCloseTo((200 * 100) / first, -1);
});

test('a crowd before a dead receiver retries rarely, and a recovered one accepts newcomers at once', () => {
  const { admission, call } = world();
  for (let i = 0; i < 20; i++) call('dead', seconds(15), false);
  const running = admission.enter('dead');
  const waits = Array.from({ length: 10_000 }, () => waitOf(admission.enter('dead')));
  const late = waits.slice(1_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(minutes(15));
  expect(Math.min(...late)).toBeGreaterThanOrEqual(minutes(12));
  if (running.admitted) running.leave(true); // in no time
  expect(admission.enter('dead').admitted).toBe(true);
  expect(admission.enter('dead').admitted).toBe(true);
  expect(waitOf(admission.enter('dead'))).toBeLessThan(seconds(15));
});

test('a full Account has its receivers wait for each other, and not for those of another Account', () => {
  const { admission } = world();
  const enter = (accountId: string, count: number) =>
    Array.from({ length: count }, (_, i) => admission.enter(`${accountId}/${i}`, accountId)).map(waitOf);
  expect(enter('crowded', ofAccount + 400).at(-1)).toBe((400 * slowAfterMs) / ofAccount);
  expect(enter('full', ofAccount + 1).at(-1)).toBe(admissionLimits.minWaitMs);
});

test('a call that has to wait for its receiver and for its Account waits for the later turn', () => {
  const { admission } = world();
  for (let i = 0; i < first; i++) admission.enter('busy', 'full');
  for (let i = first; i < ofAccount + 500; i++) admission.enter(`other ${i}`, 'full');
  expect(waitOf(admission.enter('busy', 'full'))).toBe((501 * slowAfterMs) / ofAccount);
});

test('turns in an Account are as far apart as the calls of its receivers have taken', () => {
  const { admission, pass } = world();
  const enter = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => admission.enter(`${name} ${i}`, 'full'));
  const entries = enter('early', ofAccount + 1);
  pass(seconds(10));
  for (const entry of entries) if (entry.admitted) entry.leave(true);
  expect(waitOf(enter('late', ofAccount + 400).at(-1) as Entry)).toBeCloseTo((400 * seconds(10)) / ofAccount, -2);
});

test('nothing is learned from a call that was admitted and not made', () => {
  const [usual, other] = [world(), world()];
  for (const { call } of [usual, other]) call('dead', seconds(15), false);
  const entry = other.admission.enter('dead');
  if (entry.admitted) entry.leave(null);
  const [one, another] = [usual, other].map(({ admission }) => [admission.enter('dead'), admission.enter('dead')]);
  expect(another?.map(waitOf)).toEqual(one?.map(waitOf));
  expect(one?.map(waitOf)[1]).toBeGreaterThan(seconds(4));
});

test('turns that were given stay given when a call of a quick receiver ends', () => {
  const { admission, admitted } = world();
  const [running] = admitted('busy', first);
  for (let i = 0; i < 200; i++) admission.enter('busy');
  if (running?.admitted) running.leave(true);
  expect(admitted('busy', 2)).toHaveLength(2);
  expect(waitOf(admission.enter('busy'))).toBeGreaterThan(seconds(3));
});
