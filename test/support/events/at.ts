import type { Kind } from '../operations/kinds.js';
import type { CallerKind, Place } from '../operations/place.js';
import { idsOf, type Sent, some, type World } from './world.js';

/** What a step sees of the world, in one Environment. */
export type At = ReturnType<typeof atPlace>;
/** Sends a request; undefined where what it needs is missing. */
export type Step = (at: At) => Promise<Sent> | undefined;

/** Who is named as the actor of what a caller does. */
export const actorOf = (place: Place, by: CallerKind) =>
  ({ key: 'api_key', owner: `platform_admin ${place.account.userId}`, identity: `identity ${place.identity.id}` })[by];

/** @param place where the step is taken */
export function atPlace(world: World, place: Place) {
  const { random, api } = world;
  const maybe = <T>(value: T): T | undefined => (random.below(3) === 0 ? value : undefined);
  return {
    ...world,
    place,
    maybe,
    oneOf: <T>(...all: readonly T[]): T => random.of(all),
    some: (kind: Kind, of?: string) => some(world, place, kind, of),
    several: (kind: Kind, max: number) =>
      idsOf(world, place, kind)
        .filter(() => random.below(2) === 0)
        .slice(0, max),
    rows: (...kinds: string[]) => [...world.picture].filter(([key]) => kinds.includes(key.split(' ')[0] as string)),
    /** The version of a row; sometimes a wrong one. */
    versionOf: (key: string) => (random.below(12) === 0 ? 77 : world.picture.get(key)?.version),
    /** One of few addresses, so that people meet. */
    address: () => `p${random.below(8)}@${random.of(['example.com', world.domain])}`,
    profile: () => ({
      first_name: maybe(random.of(['Eve', 'Ivo', null])),
      last_name: maybe(random.of(['Berg', null])),
      avatar_url: maybe(random.of(['https://a.example/1.png', null])),
      external_id: maybe(random.of([null, 'e1', 'e2', 'e3'])),
      metadata: maybe(random.of([{}, { a: 1 }, { a: 1, b: [2] }])),
    }),
    /** In that many steps. */
    later: (steps: number) => new Date(api.clock.now.getTime() + steps).toISOString(),
    /** Calls an operation of the Environment as its server or an administrator. */
    async call(
      method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      body?: object,
      version?: unknown,
    ): Promise<Sent> {
      const by = random.below(3) === 0 ? 'owner' : 'key';
      const url = `${by === 'owner' ? place.account.portalPath('', place.environmentSlug) : '/api/v1'}${path}`;
      const headers = { ...place.headers[by], ...(version !== undefined && { 'if-match': String(version) }) };
      const answer = await api.app.inject({ method, url, headers, ...(body && { payload: body }) });
      return { answer, actor: actorOf(place, by) };
    },
  };
}

/** A step that needs something of a kind, whose id it gets. */
export const ofOne =
  (kind: Kind, step: (at: At, id: string) => Promise<Sent> | undefined): Step =>
  (at) => {
    const id = at.some(kind);
    return id === undefined ? undefined : step(at, id);
  };
