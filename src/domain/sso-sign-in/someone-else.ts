import type { EntityManager } from 'typeorm';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { AnsweredSsoRequest } from './requests.js';

/** The person who is signed in, and another one who has come back from a provider in the same browser. */
export interface SomeoneElse {
  /** The address of the person who is signed in. */
  other: string;
  /** The address of the person who has come back. */
  email: string;
}

const text = `
select other.email::text as other, own.email::text
from sessions s
  join identities other on other.id = s.identity_id and other.account_id = $1
  join identities own on own.id = $4 and own.account_id = $1
where s.browser_hash = $3 and s.environment_id = $2 and s.account_id = $1 and s.identity_id <> $4
  and s.revoked_at is null and s.expires_at > $5`;

/**
 * Returns whose session a browser has in the Environment, if it is not that of the person who comes from a provider:
 * the sign-in would end it, with all that applications hold of it, and anybody can have made the link by which the
 * person came. In the transaction that signs them in.
 * @param browser the value of the cookie of hosted sessions
 */
export async function someoneElse(
  tx: EntityManager,
  { accountId, environmentId }: Pick<AnsweredSsoRequest, 'accountId' | 'environmentId'>,
  { browser, identityId, now }: { browser: string | null; identityId: string; now: Date },
): Promise<SomeoneElse | null> {
  if (browser === null) return null;
  const values = [accountId, environmentId, hashSecret(browser), identityId, now];
  const [found] = await tx.query<SomeoneElse[]>(text, values);
  return found ?? null;
}
