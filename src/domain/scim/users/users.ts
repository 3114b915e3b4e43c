import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../../entities/scim-user.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { violates } from '../../../platform/database/postgres-errors.js';
import { isUuid } from '../../../platform/uuid.js';
import type { Assignments } from '../../access/assignments/assignments.js';
import { letErasureStop } from '../../erasures/let-erasure-stop.js';
import { recordEvent } from '../../events/record.js';
import { changeIdentity } from '../../identities/change.js';
import { lockIdentity } from '../../identities/find.js';
import { asTaken } from '../../identities/identities.js';
import type { FairQueue } from '../../limits/fair-queue.js';
import { addMember } from '../../organizations/members.js';
import type { RunningProcesses } from '../../running-processes.js';
import { changing, type Directory, vouchesFor } from '../directory.js';
import type { Found, ListRequest } from '../lists.js';
import { permitted } from '../permitted.js';
import { ScimRefused } from '../refusal.js';
import type { Resource } from '../schema.js';
import { assertMayMove } from './addresses.js';
import { listUsers } from './lists.js';
import { isBroadForUsers } from './look-ups.js';
import { adoptPerson, assertNameIsFree, joinByDirectory, linkPerson, proveByOwner } from './people.js';
import { createPresence } from './presence.js';
import { versionOf, type WantedUser, wantedOf, writableOf } from './resource.js';
import { groupsOf, readUsers, type UserRow } from './rows.js';

export interface UserWithGroups {
  row: UserRow;
  /** Null if they were not asked for. */
  groups: { id: string; name: string }[] | null;
}

/** Whether the If-Match of a client names this version, or any; null: it has sent none. */
export type IsExpected = (version: string) => boolean;

export interface ScimUsersDeps {
  db: Db;
  broadReads: FairQueue;
  assignments: Assignments;
  processes: Pick<RunningProcesses, 'describe'>;
  now: Clock;
}

/** The people of a directory, as SCIM Users: Identities with what the directory says of them (RFC 7643 §4.1). */
export function createScimUsers({ db, broadReads, assignments, processes, now }: ScimUsersDeps) {
  const presence = createPresence({ assignments, now });
  const change = <T>(directory: Directory, work: (tx: EntityManager) => Promise<T>): Promise<T> =>
    changing(db, directory, work).catch((error: unknown) => {
      throw violates(error, 'scim_users_user_name') ? nameTaken() : asTaken(error);
    });

  return {
    /** @throws ScimRefused invalidFilter, invalidPath, tooMany */
    list: (directory: Directory, request: ListRequest, withGroups: boolean): Promise<Found<UserWithGroups>> => {
      const read = () =>
        db.transaction(directory.scope, async (tx) => {
          const { total, rows } = await listUsers(tx, directory, request);
          return { total, rows: await withTheirGroups(tx, directory, rows, withGroups) };
        });
      return isBroadForUsers(request) ? broadReads(read, directory.scope.accountId) : read();
    },

    /** @throws ScimRefused notFound */
    get: (directory: Directory, id: string, withGroups: boolean): Promise<UserWithGroups> =>
      db.transaction(directory.scope, (tx) => found(tx, directory, id, { withGroups })),

    /** @throws ScimRefused uniqueness, invalidValue */
    create: (directory: Directory, resource: Resource): Promise<UserWithGroups> => {
      const wanted = wantedOf(resource);
      return change(directory, async (tx) => {
        const at = now();
        await assertNameIsFree(tx, directory, wanted.userName);
        const joined = await joinByDirectory(tx, directory, wanted, at);
        await linkPerson(tx, directory, wanted, joined, at);
        const { scope, organizationId } = directory;
        if (joined.isKnown) await changeIdentity(tx, scope, joined.id, sentNamesOf(wanted), at);
        if (organizationId !== null)
          await addMember(tx, scope, { organizationId, identityId: joined.id, roleIds: [], at });
        const row = await rowOf(tx, directory, joined.id);
        await presence.set(tx, directory, row, wanted.isActive ?? row.isActive);
        return found(tx, directory, joined.id, { withGroups: true });
      });
    },

    /**
     * Changes a User: `changed` gets what clients write of it and answers it as wanted. A name that the directory may
     * not write is left as it is if the User was sent whole; so are name and address if it is deactivated, so that
     * nobody stays in because of a spelling.
     * @param isWhole whether the User was sent whole, and not just its changes
     * @throws ScimRefused notFound, versionMismatch, forbidden, uniqueness, and what `changed` refuses
     */
    update: (
      directory: Directory,
      id: string,
      isExpected: IsExpected | null,
      changed: (resource: Resource) => Resource,
      { isWhole }: { isWhole: boolean },
    ): Promise<UserWithGroups> =>
      change(directory, async (tx) => {
        const row = await lockedRowOf(tx, directory, id);
        assertExpected(isExpected, row);
        // `active` only matters if it was sent: a person who has left the organization is inactive without a request of
        // the directory.
        const { active: _, ...before } = writableOf(row);
        const wanted = wantedOf(changed(before), before);
        const at = now();
        await adoptPerson(tx, directory, row, at);
        const may = await permitted(tx, directory, row, { wanted, isWhole });
        await apply(tx, directory, row, may, at);
        // The takeover activates a person whom another directory had deactivated, and the domain of the new address
        // decides whether the person is its own.
        const isAsBefore = row.userName !== null && may.email.toLowerCase() === row.email.toLowerCase();
        const current = isAsBefore ? row : await rowOf(tx, directory, id);
        if (wanted.isActive !== undefined) await presence.set(tx, directory, current, wanted.isActive);
        return found(tx, directory, id, { withGroups: true });
      }),

    /**
     * @throws ScimRefused notFound, versionMismatch, forbidden; DomainError service.unavailable while the process of a
     *   cancelled erasure stops
     */
    async remove(directory: Directory, id: string, isExpected: IsExpected | null): Promise<void> {
      if (isUuid(id)) await letErasureStop(db, processes, directory.scope, id);
      await change(directory, async (tx) => {
        const row = await lockedRowOf(tx, directory, id);
        assertExpected(isExpected, row);
        await adoptPerson(tx, directory, row, now());
        const { organizationId, scope } = directory;
        const metadata = { organization_id: organizationId };
        await recordEvent(tx, 'scim_user.unlinked', { ...scope, resourceId: row.id, metadata });
        await presence.end(tx, directory, row);
      });
    },
  };
}

export type ScimUsers = ReturnType<typeof createScimUsers>;

const nameTaken = () => new ScimRefused('uniqueness', 'There is already a user with this userName');
const namesOf = ({ firstName, lastName }: WantedUser) => ({ firstName, lastName });
/** For a person who is known already, names that were not sent stay. */
const sentNamesOf = ({ firstName, lastName }: WantedUser) => ({
  ...(firstName !== null && { firstName }),
  ...(lastName !== null && { lastName }),
});

function assertExpected(isExpected: IsExpected | null, row: UserRow): void {
  if (isExpected && !isExpected(versionOf(row)))
    throw new ScimRefused('versionMismatch', 'The user has changed in the meantime; read it again');
}

/** @throws ScimRefused notFound */
async function rowOf(tx: EntityManager, directory: Directory, id: string): Promise<UserRow> {
  const [row] = isUuid(id) ? await readUsers(tx, directory, [id]) : [];
  if (!row) throw new ScimRefused('notFound', 'No such user');
  return row;
}

/** @throws ScimRefused notFound */
async function found(
  tx: EntityManager,
  directory: Directory,
  id: string,
  { withGroups }: { withGroups: boolean },
): Promise<UserWithGroups> {
  const [one] = await withTheirGroups(tx, directory, [await rowOf(tx, directory, id)], withGroups);
  return one as UserWithGroups;
}

/**
 * Locks the person for a change, which decides by this row what stays as it is and whether the directory may make it:
 * the lock on the directory does not keep administrators, or people themselves, from changing them.
 * @throws ScimRefused notFound
 */
async function lockedRowOf(tx: EntityManager, directory: Directory, id: string): Promise<UserRow> {
  if (isUuid(id)) await lockIdentity(tx, directory.scope, id);
  return rowOf(tx, directory, id);
}

async function withTheirGroups(tx: EntityManager, directory: Directory, rows: UserRow[], isWanted: boolean) {
  const ids = rows.map(({ id }) => id);
  const groups = isWanted && ids.length > 0 ? await groupsOf(tx, directory, ids) : null;
  return rows.map((row): UserWithGroups => ({ row, groups: groups && (groups.get(row.id) ?? []) }));
}

/** @throws ScimRefused forbidden, uniqueness */
async function apply(tx: EntityManager, directory: Directory, row: UserRow, wanted: WantedUser, at: Date) {
  const { scope } = directory;
  const names = namesOf(wanted);
  if (wanted.email.toLowerCase() !== row.email.toLowerCase())
    await move(tx, directory, row, { ...names, email: wanted.email }, at);
  else await changeIdentity(tx, scope, row.id, { ...names, email: wanted.email }, at);
  const { userName, externalId, attributes } = wanted;
  const changed = [
    ...(userName === (row.userName ?? row.email) ? [] : ['user_name']),
    ...(externalId === row.externalId ? [] : ['external_id']),
    ...(isDeepStrictEqual(attributes, row.attributes ?? {}) ? [] : ['attributes']),
  ];
  if (changed.length === 0) return;
  const stored = { userName, userNameKey: userName.toLowerCase(), externalId, attributes, updatedAt: at };
  await tx.update(ScimUser, { ...within(scope), identityId: row.id }, stored);
  const metadata = { organization_id: directory.organizationId, changed };
  await recordEvent(tx, 'scim_user.updated', { ...scope, resourceId: row.id, metadata });
}

/** @throws ScimRefused forbidden, uniqueness */
async function move(
  tx: EntityManager,
  directory: Directory,
  row: UserRow,
  wanted: ReturnType<typeof namesOf> & { email: string },
  at: Date,
): Promise<void> {
  const { scope } = directory;
  const { passwordHash, emailVerifiedAt } = await assertMayMove(tx, directory, row, wanted.email);
  const isVouchedFor = await vouchesFor(tx, directory, wanted.email);
  const isNews = isVouchedFor && emailVerifiedAt === null;
  const verified = isVouchedFor && !isNews && { emailVerified: true, isVouchedFor };
  await changeIdentity(tx, scope, row.id, { ...wanted, ...verified }, at);
  if (isNews) await proveByOwner(tx, directory, { id: row.id, passwordHash, emailVerifiedAt }, at);
}
