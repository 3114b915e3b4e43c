import type { AccountIntent } from '../../../entities/account-intent.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';

/** Returns the input of an intent's process. */
export const accountIntentInput = ({
  id,
  expiresAt,
}: Pick<AccountIntent, 'id' | 'expiresAt'>): ProcessInput<'accountIntent'> => ({
  intentId: id,
  expiresAt: expiresAt.toISOString(),
  // Same as a registration with an unknown address (docs/decisions/0078).
  isAwaited: true,
});

type Addressed = Pick<AccountIntent, 'id' | 'locale'>;

/** The cause of the mail that is planned with an intent. */
export const noticeCause = (id: string): string => `account-intent/${id}/notice`;

/** The mail to the owner of a parked intent: to sign in or, without a password, how to set one. */
export const accountIntentNotice = ({ id, locale }: Addressed, hasPassword: boolean): QueuedEmail => ({
  template: hasPassword ? 'registration-known-address' : 'set-password',
  locale,
  subjectId: id, // also the id of the intent's set-password link
  cause: noticeCause(id),
});

/** The mail about a failed intent, one for each failure. */
export const failureEmail = ({ id, locale, claimedAt }: Addressed & Pick<AccountIntent, 'claimedAt'>): QueuedEmail => ({
  template: 'account-creation-failed',
  locale,
  subjectId: id,
  cause: `account-intent/${id}/failed/${claimedAt?.getTime()}`,
});
