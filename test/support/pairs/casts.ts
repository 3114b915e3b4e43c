import type { Given } from '../operations/example.js';
import { type Kind, kinds } from '../operations/kinds.js';
import type { Place } from '../operations/place.js';
import type { Random } from '../random.js';

export type Pool = 'identity' | 'organization' | 'node' | 'role' | 'administratorRole' | 'member';

/** Kinds of which there are several, some of them different views of one thing. */
const pooled: Partial<Record<Kind, Pool>> = {
  identity: 'identity',
  directoryIdentity: 'identity',
  organizationMember: 'identity',
  organization: 'organization',
  connectedOrganization: 'organization',
  activelyConnectedOrganization: 'organization',
  samlConnectedOrganization: 'organization',
  node: 'node',
  limitingNode: 'node',
  role: 'role',
  administratorRole: 'administratorRole',
  member: 'member',
};

/** What the two operations of a pair are about. */
export interface Cast {
  /** Returns what one operation's example is built from. */
  given(): Given;
  /** Whether something had to be made for it, which the snapshot lacks. */
  isNew(): boolean;
}

/**
 * Returns a function that draws casts. All that the examples of one cast ask for are the same things, the first of their
 * pool; an example that asks for two of them gets two.
 * @param things ids by kind; of a kind that is missing, one is made when it is asked for
 */
export function createCasts(place: Place, pools: Record<Pool, readonly string[]>, things: Map<string, string>) {
  async function single(kind: Kind, of: string | undefined, making: () => void): Promise<string> {
    const name = of ? `${kind} ${of}` : kind;
    const known = things.get(name);
    if (known) return known;
    making();
    const made = await kinds[kind].make(place, of);
    things.set(name, made);
    return made;
  }

  return (random: Random): Cast => {
    const firsts = new Map(Object.entries(pools).map(([pool, all]) => [pool, random.below(all.length)]));
    let isNew = false;
    const given = (): Given => {
      const times = new Map<Pool, number>();
      return {
        place,
        unique: 'same',
        async id(kind, of) {
          const pool = pooled[kind];
          if (!pool)
            return single(kind, of, () => {
              isNew = true;
            });
          const time = times.get(pool) ?? 0;
          times.set(pool, time + 1);
          const all = pools[pool];
          return all[((firsts.get(pool) ?? 0) + time) % all.length] as string;
        },
      };
    };
    return { given, isNew: () => isNew };
  };
}
