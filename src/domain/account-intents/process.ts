import type { AccountIntent } from '../../../entities/account-intent.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';

/** What the process of an intent is told. */
export const accountIntentInput = ({
  id,
  expiresAt,
}: Pick<AccountIntent, 'id' | 'expiresAt'>): ProcessInput<'accountIntent'> => ({
  intentId: id,
  expiresAt: expiresAt.toISOString(),
  // As a registration with an address that nobody has (docs/decisions/0078).
  isAwaited: true,
});

type Addressed = Pick<AccountIntent, 'id' | 'locale'>;

/** What its owner is told when it is parked: to sign in or, without a password, how to set one. */
export const accountIntentNotice = ({ id, locale }: Addressed, hasPassword: boolean): QueuedEmail => ({
  template: hasPassword ? 'registration-known-address' : 'set-password',
  locale,
  subjectId: id, // which is also the id of its set-password link
  cause: `account-intent/${id}/notice`,
});

/** One for each time that it fails. */
export const failureEmail = ({ id, locale, claimedAt }: Addressed & Pick<AccountIntent, 'claimedAt'>): QueuedEmail => ({
  template: 'account-creation-failed',
  locale,
  subjectId: id,
  cause: `account-intent/${id}/failed/${claimedAt?.getTime()}`,
});
