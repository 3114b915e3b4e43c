import type { EntityManager } from 'typeorm';
import type { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { SsoDomain } from '../../../entities/sso-domain.js';
import type { ProcessInput, ProcessName } from '../../platform/process-kinds.js';
import { identityInviteInput } from '../identity-invites/process.js';
import { startAllLater } from '../outbox.js';
import { ssoDomainInput } from '../sso-domains/process.js';
import { removeFormerMembersSessions, removePeople, removeSessionsOfConnections } from './people.js';

/** Deletes some of what is in an Environment, in the caller's transaction. @returns whether there may be more */
export type Part = (tx: EntityManager, removal: EnvironmentRemoval, batchSize: number) => Promise<boolean>;

/** SQL: deletes a batch of a table; the table has an index on the Environment. */
const deletion = (table: string, order = '') =>
  `delete from ${table} where ctid = any (array(select ctid from ${table} where environment_id = $1 ${order} limit $2))`;

const rowsOf =
  (table: string, order?: string): Part =>
  async (tx, { environmentId }, batchSize) => {
    const [, deleted] = await tx.query<[unknown[], number]>(deletion(table, order), [environmentId, batchSize]);
    return deleted === batchSize;
  };

/** Deletes rows for which processes wait, and notifies each process, which looks for its row and ends. */
const waiting =
  <P extends ProcessName, Row extends { status: string }>(
    table: string,
    columns: string,
    process: P,
    inputOf: (row: Row) => ProcessInput<P> | null,
  ): Part =>
  async (tx, { environmentId }, batchSize) => {
    const [rows] = await tx.query<[Row[], number]>(
      `${deletion(table)} returning id, account_id as "accountId", environment_id as "environmentId", status, ${columns}`,
      [environmentId, batchSize],
    );
    const inputs = rows.map(inputOf).filter((input): input is ProcessInput<P> => input !== null);
    await startAllLater(tx, process, inputs);
    return rows.length === batchSize;
  };

/**
 * The rows of which there can be thousands, in an order in which no deletion cascades to thousands of others. All other
 * rows are few of each kind, and are deleted with the Environment itself.
 */
export const parts: readonly Part[] = [
  waiting('identity_invites', 'expires_at as "expiresAt"', 'inviteExpiry', (row: IdentityInvite) =>
    row.status === 'pending' ? { ...identityInviteInput(row, row.expiresAt), news: 'revoked' } : null,
  ),
  waiting('sso_domains', 'domain', 'ssoDomainVerification', (row: SsoDomain) =>
    row.status === 'failed' ? null : ssoDomainInput(row, 'released'),
  ),
  rowsOf('webhook_deliveries'),
  (tx, removal, batchSize) => removePeople(tx, removal, Math.ceil(batchSize / 5)),
  rowsOf('role_assignments'),
  rowsOf('identity_links'),
  rowsOf('emailed_codes'),
  rowsOf('organization_members'),
  rowsOf('sso_requests'),
  rowsOf('sso_tests'),
  removeSessionsOfConnections,
  rowsOf('organizations'),
  rowsOf('nodes', 'order by cardinality(path) desc'), // leaves first: deleting a node deletes those below it
  rowsOf('role_permissions'),
  removeFormerMembersSessions, // last: each step begins with the first part, and this one reads everybody of the Account
];
