import type { EntityManager } from 'typeorm';
import type { InviteStatus } from '../../../entities/administrator-invite.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { environmentExists } from '../existing-environment.js';
import { atAnyTime } from '../lists/one-plan.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { rowCount } from '../lists/row-counts.js';
import { columnsOf, type RowList, readCountedPage, readPageByTotal } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { inviteStatusSql, type ListedInvite, shownOfInvite } from './rows.js';

export type IdentityInviteSort = 'created_at' | 'expires_at' | 'email';

export interface IdentityInvitesPage extends PageRequest<IdentityInviteSort> {
  status?: InviteStatus | undefined;
}

/** The Environment that invites lead into; null: invites into none; undefined: all invites. */
export type Into = string | null | undefined;

const sorted: Record<IdentityInviteSort, readonly string[]> = {
  created_at: ['invite.created_at', 'invite.id'],
  expires_at: ['invite.expires_at', 'invite.id'],
  email: ['invite.email', 'invite.id'],
};

type Conditions = (put: Bind) => string[];

/**
 * Written so that no index matches the Account: PostgreSQL would read all invites by it and by the Environment, of
 * which it expects next to none.
 */
const ofEnvironment = 'invite.environment_id = $2 and (invite.account_id = $1) is true';

/**
 * Returns a page of the invites of an Environment or of an Account, without invitations of organizations, which have
 * lists of their own. The total of an unfiltered list is kept in a counter; with filters the rows are counted.
 */
export function listInvites(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: AccountScope,
  page: IdentityInvitesPage,
  { into, now }: { into: Into; now: Date },
): Promise<Page<ListedInvite>> {
  const ofAccount = into ? '(invite.account_id = $1) is true' : 'invite.account_id = $1';
  const list = invites(page, now, (put) => [
    scope.environmentId === undefined
      ? `${ofAccount} and $2::uuid is null and ${environmentExists('invite')}`
      : ofEnvironment,
    into === undefined
      ? `invite.intent <> 'organization'`
      : into === null
        ? `invite.intent = 'directory'`
        : `invite.intent = 'activate' and invite.environment_id = ${put(into)}`,
    ...(isWhole(page) ? [atAnyTime('invite.created_at', put)] : []),
  ]);
  if (isWhole(page))
    return readPageByTotal(
      db,
      scope,
      { ...list, total: (put) => totalOf(put, scope, into) },
      page,
      sorted[page.sortBy],
    );
  return db.transaction(scope, (tx) => readCountedPage(tx, scope, list, page, sorted[page.sortBy]));
}

/**
 * Returns a page of the invitations of one organization, which are few and counted. The caller has found it in `tx`.
 */
export const listInvitations = (
  tx: EntityManager,
  scope: EnvironmentScope,
  page: IdentityInvitesPage,
  { organizationId, now }: { organizationId: string; now: Date },
): Promise<Page<ListedInvite>> =>
  readCountedPage(
    tx,
    scope,
    invites(page, now, (put) => [`${ofEnvironment} and invite.organization_id = ${put(organizationId)}`]),
    page,
    sorted[page.sortBy],
  );

const isWhole = ({ status, q }: IdentityInvitesPage) => status === undefined && !q;

const names = `coalesce(invite.first_name, '') || ' ' || coalesce(invite.last_name, '')`;

const invites = ({ status, q }: IdentityInvitesPage, now: Date, which: Conditions): RowList => ({
  from: 'identity_invites invite',
  where: (put) =>
    [
      ...which(put),
      ...(status ? [`${inviteStatusSql(`${put(now)}::timestamptz`)} = ${put(status)}`] : []),
      ...(q ? [`(invite.email::text ilike ${put(containing(q))} or ${names} ilike ${put(containing(q))})`] : []),
    ].join(' and '),
  key: 'invite.id',
  shownBy:
    'identity_invites invite on invite.id = found.key left join environments environment on environment.id = invite.environment_id',
  select: (put) =>
    `${columnsOf('invite', shownOfInvite)}, ${inviteStatusSql(`${put(now)}::timestamptz`)} as status,
      coalesce(environment.name, '') as "environmentName"`,
});

function totalOf(put: Bind, { accountId, environmentId: own }: AccountScope, into: Into): string {
  if (into && own !== undefined && into !== own) return '0';
  const intents = [
    ...(into === null ? [] : (['identity_invites_activate'] as const)),
    ...(into ? [] : (['identity_invites_directory'] as const)),
  ];
  return rowCount(put, { accountId, environmentId: own ?? into ?? undefined }, ...intents);
}
