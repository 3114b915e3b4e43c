import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';
import { firstFactorOf } from '../first-factor-of.js';
import { adminConnectionByAddress } from '../sso-connections/covering.js';
import type { Reachable } from './reachable.js';

/** The person signs in through an Account's identity provider instead, at `sso/start`. */
export interface SsoRequired {
  outcome: 'sso_required';
  email: string;
  applicationId: string | undefined;
}

interface ProvedUser {
  /** RFC 8176: what they have proved. */
  amr: readonly string[];
  user: { id: string; email: string };
  /** Every Account of theirs; some may admit them only through its provider. */
  all: readonly Reachable[];
  applicationId: string | undefined;
}

/**
 * Finds out whether a proof that was given here, and not to an identity provider, leads to a provider: every Account of
 * the person is closed to it, or that of the Application which they asked for, and the provider of such an Account
 * speaks for their address. Whom no provider speaks for enters what is open to them, if anything is.
 */
export async function sentToProvider(
  db: Pick<Db, 'transaction'>,
  { amr, user: { id, email }, all, applicationId }: ProvedUser,
): Promise<SsoRequired | null> {
  const closed = all.filter(({ ssoOnly }) => ssoOnly);
  const isAsked = ({ application }: Reachable) => application !== null && application.id === applicationId;
  const wanted = closed.length < all.length ? closed.filter(isAsked) : closed;
  if (wanted.length === 0) return null;
  return db.transaction('system', async (tx) => {
    const connection = await adminConnectionByAddress(tx, email);
    const its = wanted.find(({ account }) => account.id === connection?.accountId);
    if (!its) return null;
    // In this Account's log alone: what it requires is nothing that the person's other Accounts have to know.
    await recordEvent(tx, 'auth.admin_sign_in_failed', {
      accountId: its.account.id,
      resourceId: id,
      outcome: 'denied',
      metadata: { method: firstFactorOf(amr), reason: 'sso_required' },
    });
    return { outcome: 'sso_required', email, applicationId };
  });
}
