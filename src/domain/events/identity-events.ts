import type { EntityManager } from 'typeorm';
import type { Actor } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { changedFields } from '../changed-fields.js';
import type { EventAction } from './catalogue.js';
import { type EventDetails, eventRow, eventsInsert, measureWritten, recordEvents } from './record.js';

type Metadata = Record<string, unknown>;

/** A change of what an Identity has once in its Account: profile, address, password, factors, sessions. */
export interface Happening {
  action: EventAction;
  /** The event's metadata; or a function that returns it for each Environment, or null if nothing happened there. */
  metadata?: Metadata | ((environmentId: string) => Metadata | null);
}

/** Returns the update of a profile, or nothing if no field differs. */
export function updated(current: object, wanted: object): Happening[] {
  const changed = changedFields(current, wanted);
  return changed.length > 0 ? [{ action: 'identity.updated', metadata: { changed } }] : [];
}

export interface Whom {
  identityId: string;
  /** The person who did it, if not the caller of the running request. */
  actor?: Actor;
}

type Place = Pick<EnvironmentScope, 'environmentId' | 'applicationId'>;

// The same round trip reads the person's other Environments: most people are in only one.
const writtenAndElsewhere = `
with written as (${eventsInsert('$1')})
select m.environment_id as "environmentId", e.application_id as "applicationId"
from environment_memberships m join environments e on e.id = m.environment_id and e.account_id = $2
where m.account_id = $2 and m.identity_id = $3 and m.environment_id is distinct from $4
order by m.environment_id`;

/**
 * Records what happened to an Identity in each Environment of the Account that it is a member of, first in the one in
 * which it was done: a customer who keeps a copy reads the feed of one Environment, and must miss nothing. In a
 * transaction of the Account that holds the Identity's row, so that an Environment that the person joins meanwhile
 * either gets the event or reads what has changed already.
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
