import { type EntityManager, In } from 'typeorm';
import { Identity } from '../../../entities/identity.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import type { Clock } from '../../platform/clock.js';
import { dbWithin } from '../../platform/database/db-within.js';
import type { AccountScope } from '../../platform/scope.js';
import { createErasures } from '../erasures/erasures.js';
import { DomainError } from '../errors.js';
import { lockOrganizations } from '../identity-invites/invited-organizations.js';
import { waitingFor, withdraw } from '../identity-invites/issue.js';
import { removeMember } from './remove.js';

interface Place {
  environmentId: string;
  applicationId: string;
  isMember: boolean;
}

/**
 * Removes a person (also one without a membership) from every Environment of the Account, withdraws what is pending for
 * their address, and starts their erasure; a running erasure continues. In a transaction of the Account.
 * @throws DomainError identity.not_found
 */
export async function removeEverywhere(
  tx: EntityManager,
  { accountId }: AccountScope,
  id: string,
  now: Clock,
): Promise<void> {
  const identity = await tx.findOne(Identity, {
    where: { accountId, id },
    select: { id: true, email: true },
    lock: { mode: 'pessimistic_write' },
  });
  if (!identity) throw new DomainError('identity.not_found');
  // The removal of an Environment deletes its members and invites.
  const places = await tx.query<Place[]>(
    `select e.id as "environmentId", e.application_id as "applicationId", m.id is not null as "isMember"
     from environments e left join environment_memberships m on m.environment_id = e.id and m.identity_id = $2
     where e.account_id = $1 order by e.id`,
    [accountId, id],
  );
  const environmentId = In(places.map((place) => place.environmentId));
  const joined = await tx.find(OrganizationMember, { where: { accountId, environmentId, identityId: id } });
  const waiting = await waitingFor(tx, { accountId, environmentId }, identity.email);
  // Locked for all Environments at once: one after the other, two removals could wait for each other.
  await lockOrganizations(
    tx,
    [...joined, ...waiting].map(({ organizationId }) => organizationId),
  );
  for (const { isMember, ...place } of places) {
    if (isMember) await removeMember(tx, { accountId, ...place }, id, now);
  }
  await withdraw(tx, waiting, { reason: 'identity_deleted', now: now() });
  await createErasures({ db: dbWithin(tx), now }).request({ accountId }, id);
}
