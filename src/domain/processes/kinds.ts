import type { DomainSchedule } from '../sso-domains/schedule.js';
import type { Kind, KindName } from './kind.js';
import { emailKind } from './kind-email.js';
import { environmentRemovalKind } from './kind-environment-removal.js';
import { erasureKind } from './kind-erasure.js';
import { identityInviteKind } from './kind-identity-invite.js';
import { inviteKind } from './kind-invite.js';
import { mfaGraceKind } from './kind-mfa-grace.js';
import { roleWindowKind } from './kind-role-window.js';
import { ssoDomainKind } from './kind-sso-domain.js';
import { webhookKind } from './kind-webhook.js';

export interface KindsDeps {
  /** Milliseconds before the end of a grace. */
  mfaReminders: readonly number[];
  /** Milliseconds before the end of a role assignment. */
  roleNotices: readonly number[];
  domainSchedule: DomainSchedule;
}

export const createKinds = ({ mfaReminders, roleNotices, domainSchedule }: KindsDeps) =>
  ({
    invite: inviteKind,
    identity_invite: identityInviteKind,
    email: emailKind,
    mfa_grace: mfaGraceKind(mfaReminders),
    identity_erasure: erasureKind,
    environment_removal: environmentRemovalKind,
    role_assignment: roleWindowKind(roleNotices),
    sso_domain: ssoDomainKind(domainSchedule),
    webhook_delivery: webhookKind,
  }) satisfies Kinds;

export type Kinds = Record<KindName, Kind>;

/** All states of all kinds, by which a list can be filtered. */
export const states = [
  'pending',
  'running',
  'accepted',
  'sent',
  'succeeded',
  'completed',
  'verified',
  'lapsed',
  'enrolled',
  'reset',
  'expired',
  'revoked',
  'removed',
  'cancelled',
  'failed',
] as const;
