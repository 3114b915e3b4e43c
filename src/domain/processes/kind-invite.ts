import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { createAdministratorInviteExpiry, lockAdministrationOf } from '../administrator-invites/expiry.js';
import { administratorInviteInput } from '../administrator-invites/process.js';
import { startLater } from '../outbox.js';
import { invitesOf } from './any-invite.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, accountId, deadline }: ProcessRow, now: Date) =>
  administratorInviteInput({ id, accountId, expiresAt: deadline! }, now);

/** Invites of administrators. */
export const inviteKind: Kind = {
  ...invitesOf({
    table: 'administrator_invites',
    counted: ['administrator_invites'],
    kind: 'invite',
    subjectType: 'administrator_invite',
    environmentId: 'null::uuid',
    inputOf,
  }),
  verbs: { cancel: ['pending'], resend: ['pending', 'expired'], extend: ['pending'] },
  lockFirst: lockAdministrationOf,
  async cancel(tx, row, now) {
    await createAdministratorInviteExpiry({ db: dbWithin(tx), now }).cancel(row.id, 'cancelled_by_operator');
    // Otherwise its workflow would sleep on for days if the cancel does not reach Temporal.
    const { expiresAt } = await tx.findOneByOrFail(AdministratorInvite, { accountId: row.accountId, id: row.id });
    await startLater(tx, 'inviteExpiry', { ...inputOf({ ...row, deadline: expiresAt }, now()), news: 'revoked' });
  },
};
