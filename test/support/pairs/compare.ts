import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { TestApi } from '../api.js';
import { counted, interleaved } from '../interleaving.js';
import type { Random } from '../random.js';
import { answerOf, stateOf, toldOf } from './alike.js';
import type { Happening } from './happenings.js';
import type { World } from './world.js';

interface Run {
  answers: [string, string];
  state: string[];
  told: string[];
}
interface Serial extends Run {
  /** How many statements the first request sends. */
  statements: number;
}
const sameAs = (one: Run, other: Run) =>
  JSON.stringify([one.answers, one.state, one.told]) === JSON.stringify([other.answers, other.state, other.told]);

export interface Pair {
  cast: ReturnType<World['cast']>;
  happenings: readonly [Happening, Happening];
  requests: readonly [InjectOptions, InjectOptions];
}

/** Returns the ids in a request, without that of the Environment. */
const idsIn = ({ url, payload }: InjectOptions, { place }: World) =>
  `${url} ${JSON.stringify(payload)}`.replaceAll(place.scope.environmentId, '').match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ??
  [];

/** Draws two requests, which mostly name something in common; sometimes the same twice. */
export async function drawPair(world: World, all: readonly Happening[], random: Random): Promise<Pair> {
  const cast = world.cast(random);
  const first = random.of(all);
  const request = await first.request(cast.given());
  const ids = new Set(idsIn(request, world));
  const isTwice = random.below(8) === 0;
  for (let left = isTwice ? 0 : 30; ; left--) {
    const other = isTwice ? first : random.of(all);
    const another = await other.request(cast.given());
    if (left === 0 || idsIn(another, world).some((id) => ids.has(id)))
      return { cast, happenings: [first, other], requests: [request, another] };
  }
}

/**
 * Runs two requests at once, each stopped before some of its statements while the other goes on.
 * @returns what neither order of the two leads to
 */
export async function problemsOfPair(
  api: TestApi,
  world: World,
  { cast, happenings: [first, other], requests }: Pair,
  random: Random,
  stops = 2,
): Promise<string[]> {
  const { snapshot } = world;
  if (cast.isNew()) await snapshot.take();
  const send = (request: InjectOptions) => async () => api.app.inject(request);
  const [a, b] = [send(requests[0]), send(requests[1])];

  async function lookAt(answers: readonly [LightMyRequestResponse, LightMyRequestResponse]): Promise<Run> {
    const differences = await snapshot.differences();
    const names = new Map(answers.map((answer, i) => [String(answer.headers['x-request-id']), `request ${i}`]));
    await snapshot.restore(differences);
    return {
      answers: [answerOf(answers[0], snapshot, names), answerOf(answers[1], snapshot, names)],
      state: stateOf(differences, snapshot, names),
      told: toldOf(differences, snapshot),
    };
  }
  const inOrder = await counted(a);
  const one: Serial = { ...(await lookAt([inOrder.outcome, await b()])), statements: inOrder.statements };
  const reversed = await counted(b);
  const two: Serial = { ...(await lookAt([await a(), reversed.outcome])), statements: reversed.statements };
  if ([one, two].every(({ state }) => state.length === 0)) return []; // neither changes anything
  const problems: string[] = [];
  for (let i = 0; i < 2 * stops; i++) {
    const isFirst = i % 2 === 0;
    const { statements } = isFirst ? one : two;
    if (statements === 0) continue;
    const at = i < 2 && random.below(2) === 0 ? statements : 1 + random.below(statements);
    const { ownerUrl } = api.database;
    const both = isFirst ? await interleaved(ownerUrl, at, a, b) : (await interleaved(ownerUrl, at, b, a)).toReversed();
    const run = await lookAt(both as [LightMyRequestResponse, LightMyRequestResponse]);
    if (sameAs(run, one) || sameAs(run, two)) continue;
    const [stopped, meanwhile] = isFirst ? [first, other] : [other, first];
    const where = `"${stopped.name}" before its statement ${at} of ${statements}, meanwhile "${meanwhile.name}"`;
    problems.push([where, differenceOf(run, one, 'A;B'), differenceOf(run, two, 'B;A')].join('\n'));
  }
  return problems;
}

function differenceOf(run: Run, serial: Run, name: string): string {
  const all = (of: Run) => [...of.answers.map((answer, i) => `answer ${i} ${answer}`), ...of.state, ...of.told];
  const without = (some: string[], others: string[]) => {
    const rest = [...others];
    return some.filter((one) => {
      const at = rest.indexOf(one);
      if (at >= 0) rest.splice(at, 1);
      return at < 0;
    });
  };
  const more = without(all(run), all(serial)).map((line) => `    only at once: ${line}`);
  const less = without(all(serial), all(run)).map((line) => `    only in order: ${line}`);
  return [`  compared with ${name}:`, ...more, ...less].map((line) => line.slice(0, 900)).join('\n');
}
