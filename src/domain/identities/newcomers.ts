import type { RunsStatement, Statement } from '../../platform/database/db.js';
import { inSnakeCase, snakeCased } from '../../platform/database/naming.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { measureEvent } from '../events/metrics.js';
import { eventInsert, eventRow } from '../events/record.js';
import { countStriped } from '../lists/counters.js';
import type { IdentityInEnvironment } from './find.js';
import { newIdentity } from './new-identity.js';
import { emptyProfile } from './profile.js';

/** Named as in the rows of `newIdentity`, so that a field of the profile is only named there. */
const columns = Object.keys(
  newIdentity(
    { accountId: '', applicationId: '', environmentId: '' },
    { ...emptyProfile, email: '', emailVerified: false },
    null,
    new Date(0),
  ),
).map(inSnakeCase);

/**
 * Adds a member who is new to the Account's directory, in one statement, since this is done by the thousand. The
 * Environment's row is locked before anything in it, as by a deletion of the Environment.
 */
const addStatement: Statement = {
  name: 'add_newcomer',
  text: `
with place as materialized (
  select id, account_id from environments where account_id = $1::uuid and id = $2::uuid for key share
),
person as (
  insert into identities (${columns.join()})
  select ${columns.map((column) => `new.${column}`).join()} from place cross join jsonb_populate_record(null::identities, $3::jsonb) new
  on conflict do nothing returning id, account_id, created_at
),
member as (
  insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
  select $4::uuid, account_id, $2::uuid, id, true, created_at from person returning environment_id, account_id
),
recorded as (${eventInsert('$5', { from: ' cross join member' })}),
counted as (${countStriped('identities', 'member')})
select exists (select from member) as "isNew" from place`,
};

/**
 * @param run in the scope
 * @returns false if the Account's directory has the address or the external id already; then nothing was stored
 * @throws DomainError environment.not_found if it was deleted meanwhile
 */
export async function addNewcomer(
  run: RunsStatement,
  scope: EnvironmentScope,
  { identity, membership }: IdentityInEnvironment,
): Promise<boolean> {
  const metadata = { joined: false };
  const event = eventRow('identity.created', { ...scope, resourceId: identity.id, metadata });
  const values = [scope.accountId, scope.environmentId, JSON.stringify(snakeCased(identity)), membership.id, event];
  const [place] = await run<{ isNew: boolean }>(addStatement, values);
  if (!place) throw new DomainError('environment.not_found');
  if (place.isNew) measureEvent('identity.created', metadata);
  return place.isNew;
}
