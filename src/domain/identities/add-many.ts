import { type EntityManager, In } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { within } from '../../platform/database/db.js';
import { insertNew } from '../../platform/database/insert-new.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { beingDeleted } from '../erasures/staying.js';
import { DomainError } from '../errors.js';
import { recordEvents } from '../events/record.js';
import { addToCounter } from '../lists/counters.js';
import { addImportedApps, type ImportedApp } from '../mfa/imported-apps.js';
import { endSessionsFromBefore } from '../sessions/before-joining.js';
import { type NewIdentity, newIdentity, newMembership } from './new-identity.js';

/** One Identity to add, with the hash of its password and its second factors. */
export type ToAdd = Omit<NewIdentity, 'password'> & { passwordHash: string | null; apps: readonly ImportedApp[] };
/**
 * The outcome: made a member (`joined`: of somebody who was in the Account's directory before), or a member already; or
 * why neither.
 */
export type Added =
  | { status: 'created' | 'exists'; id: string; joined: boolean }
  | { status: 'failed'; error: DomainError };

/**
 * Adds members, in the caller's transaction and with few statements, however many they are. If an address is in the
 * Account's directory already, that Identity keeps its profile, password and second factors; if it came before in the
 * list, it is the same one.
 * @returns the outcome for each, in order
 */
export async function addIdentities(
  tx: EntityManager,
  scope: EnvironmentScope,
  wanted: readonly ToAdd[],
  at: Date,
): Promise<Added[]> {
  const fresh = wanted.map((one) => newIdentity(scope, one, one.passwordHash, at));
  const isMade = await insertNew(tx, Identity, fresh);
  const found = await idsByAddress(
    tx,
    scope,
    fresh.filter(({ id }) => !isMade.has(id)).map(({ email }) => email),
  );
  const ids = fresh.map(({ id, email }) => (isMade.has(id) ? id : (found.get(email) ?? null)));
  const known = [...found].flatMap(([email, id]) => (id !== null && !isMade.has(id) ? [{ email, id }] : []));
  const changed = await lockUnmoved(tx, scope, known);
  const refusals = ids.map((id, i) => refusalOf(id, fresh[i] as Identity, changed));
  const joining = [...new Set(ids.filter((_, i) => refusals[i] === null))] as string[];
  const joined = await join(tx, scope, joining, at);
  const back = [...joined].filter((id) => !isMade.has(id));
  await endSessionsFromBefore(tx, scope, back, { reason: 'joined', at });
  await addToCounter(tx, scope, 'identities', joined.size);
  await recordEvents(
    tx,
    'identity.created',
    joining
      .filter((id) => joined.has(id))
      .map((id) => ({ ...scope, resourceId: id, metadata: { joined: !isMade.has(id) } })),
  );
  const apps = fresh.flatMap(({ id: identityId }, i) =>
    isMade.has(identityId) ? (wanted[i] as ToAdd).apps.map((app) => ({ ...app, identityId })) : [],
  );
  await addImportedApps(tx, scope, apps, at);
  return ids.map((id, i): Added => {
    const error = refusals[i];
    if (error) return { status: 'failed', error };
    // The first entry with an address is the one that has joined.
    const isNew = joined.delete(id as string);
    return { status: isNew ? 'created' : 'exists', id: id as string, joined: isNew && !isMade.has(id as string) };
  });
}

function refusalOf(
  id: string | null,
  { externalId }: Identity,
  { moved, erased }: ChangedMeanwhile,
): DomainError | null {
  if (id === null) return new DomainError(externalId === null ? 'identity.email_taken' : 'identity.external_id_taken');
  if (erased.has(id)) return beingDeleted();
  return moved.has(id) ? new DomainError('identity.email_taken') : null; // since a moment ago
}

/** The Identity with each address; null if nobody has it, and it was the `external_id` that is taken. */
async function idsByAddress(
  tx: EntityManager,
  { accountId }: EnvironmentScope,
  emails: readonly string[],
): Promise<Map<string, string | null>> {
  if (emails.length === 0) return new Map();
  const rows = await tx.query<{ email: string; id: string | null }[]>(
    `select email, gatehouse_identity_id($1, email::citext) as id from unnest($2::text[]) as email`,
    [accountId, [...new Set(emails)]],
  );
  return new Map(rows.map(({ email, id }) => [email, id]));
}

/** Of the people who were found by their addresses: who has moved to another one since, and who is being erased. */
interface ChangedMeanwhile {
  moved: ReadonlySet<string>;
  erased: ReadonlySet<string>;
}

/**
 * Locks people who are no members yet, so that the address stays theirs (as `lockIdentityByAddress` does), and nobody
 * requests their erasure, by which a new membership would be deleted as well. Members of this Environment stay, and
 * need no lock.
 */
async function lockUnmoved(
  tx: EntityManager,
  scope: EnvironmentScope,
  known: readonly { email: string; id: string }[],
): Promise<ChangedMeanwhile> {
  if (known.length === 0) return { moved: new Set(), erased: new Set() };
  const identityId = In(known.map(({ id }) => id));
  const members = await tx.findBy(EnvironmentMembership, { ...within(scope), identityId });
  const isMember = new Set(members.map((member) => member.identityId));
  const others = known.filter(({ id }) => !isMember.has(id));
  const ids = others.map(({ id }) => id);
  const unmoved = await tx.query<{ id: string }[]>(
    `select id from identities
     where account_id = $1 and id = any($2::uuid[]) and email = ($3::citext[])[array_position($2::uuid[], id)] order by id for share`,
    [scope.accountId, ids, others.map(({ email }) => email)],
  );
  const erased = await tx.query<{ id: string }[]>(
    `select identity_id as id from erasures where account_id = $1 and identity_id = any($2) and status = 'running'`,
    [scope.accountId, ids],
  );
  const isUnmoved = new Set(unmoved.map(({ id }) => id));
  return { moved: new Set(ids.filter((id) => !isUnmoved.has(id))), erased: new Set(erased.map(({ id }) => id)) };
}

/** @returns those who were no members before */
async function join(tx: EntityManager, scope: EnvironmentScope, ids: readonly string[], at: Date) {
  if (ids.length === 0) return new Set<string>();
  const rows = ids.map((identityId) => newMembership(scope, identityId, at));
  const made = await insertNew(tx, EnvironmentMembership, rows);
  return new Set(rows.filter(({ id }) => made.has(id)).map(({ identityId }) => identityId));
}
