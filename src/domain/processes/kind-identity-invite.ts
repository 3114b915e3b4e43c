import { IdentityInvite } from '../../../entities/identity-invite.js';
import { lockOrganizationOf } from '../identity-invites/expiry.js';
import { withdraw } from '../identity-invites/issue.js';
import { identityInviteInput } from '../identity-invites/process.js';
import { invitesOf } from './any-invite.js';
import type { Kind } from './kind.js';

/** Invites of end users, including those to organizations. They are resent where they were created. */
export const identityInviteKind: Kind = {
  ...invitesOf({
    table: 'identity_invites',
    counted: ['identity_invites_activate', 'identity_invites_directory', 'identity_invites_organization'],
    kind: 'identity_invite',
    subjectType: 'identity_invite',
    environmentId: 'environment_id',
    inputOf: ({ id, accountId, environmentId, deadline }, now) =>
      identityInviteInput({ id, accountId, environmentId: environmentId!, expiresAt: deadline! }, now),
  }),
  verbs: { cancel: ['pending'] },
  lockFirst: lockOrganizationOf,
  async cancel(tx, { id, accountId }, now) {
    const invite = await tx.findOneByOrFail(IdentityInvite, { accountId, id });
    await withdraw(tx, [invite], { reason: 'cancelled_by_operator', now: now() });
  },
};
