import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { atPlace } from '../support/events/at.js';
import { untrue } from '../support/events/compare.js';
import type { Told } from '../support/events/meaning.js';
import { pictureOf } from '../support/events/picture.js';
import { delivered, domainEvents, eventsOf, feedOf } from '../support/events/readers.js';
import { declaredStep, ownSteps } from '../support/events/steps.js';
import { newWorld, type Sent, type World } from '../support/events/world.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import type { Place } from '../support/operations/place.js';
import { live, seedsOf } from '../support/random-histories.js';

/**
 * Random histories of everything that changes an Account: all operations of both APIs, directories, and people
 * themselves. What is there is read before and after each step, row by row, and the events of the step have to tell
 * exactly the difference: what begins, what ends and which fields are others. In the end the change feeds and the
 * webhooks have told the same as the audit log.
 */

let api: TestApi;
let operations: Declared[];
beforeAll(async () => {
  api = await startApi();
  operations = (await everyOperation(api.app)).filter(isTaken);
});
afterAll(() => api.stop());

/** Other servers are needed for some, `process.extended` is for the audit log alone, and the rest changes no list. */
const without =
  /^(portal)?(verify.*Domain|retry.*|import.*Metadata|test.*|extendProcess|resetMemberMfa|putApplicationState)$/i;
const isTaken = ({ method, surface, name }: Declared) =>
  method !== 'GET' && (surface === 'public' || surface === 'portal') && !without.test(name);

/** Returns what has been told since the last call. */
function newsOf({ places: [{ scope }] }: World): () => Promise<Told[]> {
  const seen = new Set<string>();
  return async () => {
    const fresh = (await eventsOf(api, scope.accountId)).filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    return fresh;
  };
}

/** Returns what is wrong with who did it, and where. */
function misplaced({ places }: World, { answer, actor }: Sent, events: readonly Told[]): string[] {
  const isRefused = answer.statusCode >= 400;
  return events.flatMap(({ action, actor_type, actor_id, environment_id, application_id }) => {
    const by = `${actor_type} ${actor_id}`;
    const place = places.find(({ scope }) => scope.environmentId === environment_id);
    return [
      ...(isRefused && !action.startsWith('auth.') ? [`${action}, and it was refused`] : []),
      ...(actor && by !== actor && actor_type !== actor ? [`${action} by ${by}, and not by ${actor}`] : []),
      ...(place && application_id !== place.scope.applicationId ? [`${action} in ${application_id}`] : []),
    ];
  });
}

/** Prepares a step: one that makes things meet, or any operation by its example. */
async function prepared(world: World, place: Place): Promise<{ name: string; send: () => Promise<Sent> | undefined }> {
  const { random } = world;
  if (random.below(4) > 0) {
    const name = random.of(Object.keys(ownSteps));
    return { name, send: () => ownSteps[name]?.(atPlace(world, place)) };
  }
  const declared = random.of(operations);
  return { name: declared.name, send: await declaredStep(world, place, declared) };
}

/** Expects every reader to have got every event. */
async function compareReaders({ places, subscriptions }: World): Promise<void> {
  const [{ scope }] = places;
  const events = await eventsOf(api, scope.accountId);
  for (const place of places) expect(await feedOf(place)).toEqual(domainEvents(events, place.scope.environmentId));
  const { got, wrong } = await delivered(api, places[0], events);
  expect(wrong).toEqual([]);
  const since = (id: string) => events.slice(events.findIndex(({ resource_id }) => resource_id === id));
  const wanted = [null, ...places.map((place) => place.scope.environmentId)].map((environmentId, i) =>
    since(subscriptions[i] as string)
      .filter((one) => one.is_domain_event && (environmentId === null || one.environment_id === environmentId))
      .filter(
        ({ action }) =>
          environmentId === null || !/^(environment|application|member|account|administrator_\w+)\./.test(action),
      )
      .map(({ id }) => id),
  );
  expect(subscriptions.map((id) => got.get(id)?.sort())).toEqual(wanted.map((ids) => ids.sort()));
}

test.each(seedsOf(1, 2))('in every history, events tell exactly what changes: %i', async (seed) => {
  const world = await newWorld(api, seed);
  const news = newsOf(world);
  const { accountId } = world.places[0].scope;
  world.picture = await pictureOf(api, accountId);
  await live(seed, 40, async (tell) => {
    api.clock.advance(1);
    const place = world.random.of([world.places[0], ...world.places]);
    const { name, send } = await prepared(world, place);
    await news(); // what was made for the step
    const before = await pictureOf(api, accountId);
    world.picture = before;
    const sent = await send();
    if (!sent) return tell(`${name}: nothing to do it with`);
    const events = await news();
    const outcome = name.startsWith('scim') ? sent.answer.statusCode : outcomeOf(sent.answer);
    tell(`${name} in ${place.environmentSlug}: ${outcome} ${events.map(({ action }) => action)}`);
    world.picture = await pictureOf(api, accountId);
    expect([...untrue(before, world.picture, events), ...misplaced(world, sent, events)]).toEqual([]);
  });
  await compareReaders(world);
});
