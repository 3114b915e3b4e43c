import type { InviteExpiry } from '../src/domain/invites/expiry.js';
import { settled } from './settled.js';

export type { InviteRow } from '../src/domain/invites/expiry.js';
export type InviteActivities = ReturnType<typeof createInviteActivities>;
/** Every kind of invite; each has its own rows and its own rules. */
export type InviteKind = 'administrator' | 'identity';

export interface WhichInvite {
  kind: InviteKind;
  inviteId: string;
}

export const createInviteActivities = ({ invites }: { invites: Record<InviteKind, InviteExpiry> }) => {
  const of = ({ kind }: WhichInvite): InviteExpiry => {
    // A newer worker knows this kind; until one takes over, the attempt fails like an outage, and is repeated.
    if (!Object.hasOwn(invites, kind)) throw new Error('unknown kind of invite');
    return invites[kind];
  };
  return {
    readInvite: (which: WhichInvite) => settled(async () => of(which).read(which.inviteId)),
    remindOfInvite: (which: WhichInvite) => settled(async () => of(which).remind(which.inviteId)),
    expireInvite: (which: WhichInvite) => settled(async () => of(which).expire(which.inviteId)),
    cancelInvite: (which: WhichInvite) =>
      settled(async () => of(which).cancel(which.inviteId, 'cancelled_by_operator')),
  };
};
