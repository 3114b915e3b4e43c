import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AccountIntent } from '../../../entities/account-intent.js';
import { currentContext } from '../../platform/context.js';
import { planEmail } from '../emails/queue.js';
import { startLater } from '../outbox.js';
import { accountIntentInput, accountIntentNotice } from './process.js';

export interface WantedAccount {
  accountName: string;
  applicationName: string;
  accountSlug?: string | undefined;
  locale: 'en' | 'de';
}

export interface ParkIntent extends WantedAccount {
  user: { id: string; passwordHash: string | null };
  now: Date;
  expiresAt: Date;
}

/**
 * Parks an intent to create an Account until its owner signs in and resumes it. Its process sends the notice. Executes
 * as many statements as a registration, whether or not the user has a password.
 */
export async function parkIntent(tx: EntityManager, { user, now, expiresAt, ...wanted }: ParkIntent): Promise<string> {
  const intent = newIntent({ ...wanted, userId: user.id, now, expiresAt });
  await tx.insert(AccountIntent, intent);
  await planEmail(tx, accountIntentNotice(intent, user.passwordHash !== null), now);
  await startLater(tx, 'accountIntent', accountIntentInput(intent));
  return intent.id;
}

export const newIntent = ({
  accountSlug,
  now,
  ...wanted
}: WantedAccount & { userId: string; now: Date; expiresAt: Date }): AccountIntent => ({
  ...wanted,
  id: uuidv7(),
  accountSlug: accountSlug ?? null,
  status: 'parked',
  endedReason: null,
  claimId: null,
  claimedAt: null,
  accountId: null,
  correlationId: currentContext().correlationId,
  createdAt: now,
  endedAt: null,
});
