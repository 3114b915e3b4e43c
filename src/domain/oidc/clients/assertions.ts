import { errors, type JWTPayload, jwtVerify } from 'jose';
import { type Clock, clockSkewMs, hours } from '../../../platform/clock.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import type { Db } from '../../../platform/database/db.js';
import { clientRefused } from '../oauth-error.js';
import { claimedText } from '../tokens/claimed.js';
import type { Client } from './clients.js';
import type { ClientKeys } from './keys.js';

export const assertionAlgorithms = ['RS256', 'PS256', 'ES256'];

/** A used assertion is remembered until it expires, so it may not last long. */
const maxLife = hours(1);

const useStatement = {
  name: 'use_client_assertion',
  text: `insert into client_assertions (client_id, jti_hash, expires_at) values ($1, $2, $3) on conflict do nothing
returning client_id`,
};

export interface ClientAssertions {
  /** The client that an assertion claims to be of; not to be believed before `assertValid`. */
  subjectOf(assertion: string): string | null;
  /**
   * @throws OAuthError invalid_client; DomainError service.unavailable if the client's keys cannot be read for the
   *   moment
   */
  assertValid(client: Client, assertion: string): Promise<void>;
}

/** `private_key_jwt` (RFC 7523 §3, OpenID Connect Core 9). */
export function createClientAssertions({
  db,
  clientKeys,
  baseUrl,
  now,
}: {
  db: Db;
  clientKeys: ClientKeys;
  baseUrl: string;
  now: Clock;
}): ClientAssertions {
  // Each of these audiences is this service and nobody else; libraries name the endpoint that they are about to call.
  const audiences = [baseUrl, ...['token', 'introspect', 'revoke'].map((name) => `${baseUrl}/oauth/${name}`)];

  async function verified(client: Client, assertion: string): Promise<JWTPayload> {
    const keys = await clientKeys.of(client);
    try {
      const { payload } = await jwtVerify(assertion, keys, {
        algorithms: assertionAlgorithms,
        issuer: client.clientId,
        subject: client.clientId,
        audience: audiences,
        requiredClaims: ['exp', 'jti'],
        currentDate: now(),
        clockTolerance: clockSkewMs / 1000,
      });
      // Another party that also accepts it could pass it on (draft-ietf-oauth-rfc7523bis §4).
      if (![payload.aud ?? []].flat().every((audience) => audiences.includes(audience))) throw clientRefused();
      return payload;
    } catch (error) {
      // A registered key that cannot be imported is a TypeError or a DOMException.
      if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
        throw clientRefused();
      }
      throw error;
    }
  }

  return {
    subjectOf: (assertion) => claimedText(assertion, 'sub'),
    async assertValid(client, assertion) {
      const { exp = 0, jti } = await verified(client, assertion);
      if (typeof jti !== 'string' || exp * 1000 > now().getTime() + maxLife + clockSkewMs) throw clientRefused();
      // As long as it is accepted; housekeeping keeps it for a minute more, since our own clocks differ as well.
      const until = new Date(exp * 1000 + clockSkewMs);
      const used = await db.statement(useStatement, [client.clientId, hashSecret(jti), until]);
      if (used.length === 0) throw clientRefused();
    },
  };
}
