import type { EntityManager } from 'typeorm';
import type { Actor } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { changedFields } from '../changed-fields.js';
import type { EventAction } from './catalogue.js';
import { type EventDetails, eventRow, eventsInsert, measureWritten, recordEvents } from './record.js';

type Metadata = Record<string, unknown>;

/** Something that happened to what an Identity has once in its Account: profile, address, password, factors, sessions. */
export interface Happening {
  action: EventAction;
  /** What is said of it; as a function, in each Environment: null where nothing of it happened there. */
  metadata?: Metadata | ((environmentId: string) => Metadata | null);
}

/** That a profile is otherwise, where it is. */
export function updated(current: object, wanted: object): Happening[] {
  const changed = changedFields(current, wanted);
  return changed.length > 0 ? [{ action: 'identity.updated', metadata: { changed } }] : [];
}

export interface Whom {
  identityId: string;
  /** Whose doing it was, where that is not the caller of the running request. */
  actor?: Actor;
}

type Place = Pick<EnvironmentScope, 'environmentId' | 'applicationId'>;

// Where else the person is comes with the same round trip: most people are in one Environment.
const writtenAndElsewhere = `
with written as (${eventsInsert('$1')})
select m.environment_id as "environmentId", e.application_id as "applicationId"
from environment_memberships m join environments e on e.id = m.environment_id and e.account_id = $2
where m.account_id = $2 and m.identity_id = $3 and m.environment_id is distinct from $4
order by m.environment_id`;

/**
 * Records what happened to somebody in each Environment of the Account that they are a member of, and first in the one in which it was
 * done: whoever keeps a copy reads the feed of one Environment, and misses nothing. In a transaction of the Account that holds the
 * Identity's row, so that whoever joins meanwhile is told, or reads what has changed already.
 * @returns the ids of the events in the Environment in which it was done, in the order given
 */
export async function recordOfIdentity(
  tx: EntityManager,
  scope: EnvironmentScope,
  { identityId, actor }: Whom,
  happenings: readonly Happening[],
): Promise<string[]> {
  if (happenings.length === 0) return [];
  const { accountId } = scope;
  const detailsIn = (place: Place, metadata: Happening['metadata']): EventDetails[] => {
    const said = typeof metadata === 'function' ? metadata(place.environmentId) : (metadata ?? {});
    if (said === null) return [];
    return [{ accountId, ...place, resourceId: identityId, metadata: said, ...(actor && { actor }) }];
  };
  const own = { environmentId: scope.environmentId, applicationId: scope.applicationId };
  const here = happenings.flatMap(({ action, metadata }) =>
    detailsIn(own, metadata).map((details) => ({ action, details })),
  );
  const rows = here.map(({ action, details }) => eventRow(action, details));
  const values = [`[${rows.join()}]`, accountId, identityId, scope.environmentId];
  const elsewhere = await tx.query<Place[]>(writtenAndElsewhere, values);
  for (const { action, details } of here) measureWritten(tx, action, [details]);
  for (const { action, metadata } of happenings) {
    await recordEvents(
      tx,
      action,
      elsewhere.flatMap((place) => detailsIn(place, metadata)),
    );
  }
  return rows.map((row) => JSON.parse(row).id);
}
