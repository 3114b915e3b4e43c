import { MfaFactor } from '../../entities/mfa-factor.js';
import type { Webauthn } from '../../src/domain/mfa/webauthn/webauthn.js';
import type { Db } from '../../src/platform/database/db.js';
import type { Authenticator } from './authenticator.js';

/** Gives a person a key as if enrolled earlier. Returns the factor. */
export async function giveKey(
  { db, logins, now }: { db: Db; logins: { webauthn: Webauthn }; now: () => Date },
  { accountId, id, email }: { accountId: string; id: string; email: string },
  authenticator: Authenticator,
): Promise<MfaFactor> {
  const person = { accountId, identityId: id, email, name: email, relyingParty: 'Acme' };
  const options = await logins.webauthn.enrollmentOptions(person);
  const { factor } = await logins.webauthn.verifyEnrollment({
    challenge: options.challenge,
    sent: authenticator.create(options),
  });
  const row = { ...factor, accountId, identityId: id, enrolledAt: now(), lastUsedAt: null } as MfaFactor;
  await db.transaction({ accountId }, (tx) => tx.insert(MfaFactor, row));
  return row;
}

/** Returns the headers of a JSON request by the pages' script: from the page's own origin. */
export const fromPage = (baseUrl: string) => ({
  'content-type': 'application/json',
  origin: baseUrl,
  'sec-fetch-site': 'same-origin',
});
