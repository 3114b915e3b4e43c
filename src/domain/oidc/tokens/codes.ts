import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, seconds } from '../../../platform/clock.js';
import { hashSecret, newSecret } from '../../../platform/crypto/one-time-secret.js';
import type { Db } from '../../../platform/database/db.js';
import type { Consents } from '../../consents/consents.js';
import { codeInsert } from '../../sessions/code-insert.js';
import type { Client } from '../clients/clients.js';
import { OAuthError } from '../oauth-error.js';
import type { AuthorizeRequest } from '../requests/authorize-request.js';
import type { Granted } from './claims.js';
import type { Grants } from './grants.js';
import { challengeOf, isVerifier } from './pkce.js';
import { createRedemption } from './redemption.js';

/** RFC 6749 §4.1.2 recommends ten minutes at most; a client redeems at once. */
const codeLife = seconds(60);

/** The sign-in that a code represents. */
export interface CodeSession {
  id: string;
  authenticatedAt: Date;
  /** As `FirstFactor` has it. */
  authTime?: Date | null;
  amr: string[];
  acr: string;
  /** The organization that the sign-in is for, if any. */
  organizationId: string | null;
}

export interface Redemption {
  code: string;
  redirectUri: string | null;
  verifier: string | null;
}

export interface Redeemed {
  granted: Granted;
  nonce: string | null;
  refreshToken: string;
}

const issueStatement = { name: 'issue_authorization_code', text: codeInsert('$1') };

export interface CodesDeps {
  db: Db;
  grants: Grants;
  consents: Pick<Consents, 'cover'>;
  now: Clock;
}

/** Authorization codes (contract §2): 256 bits, a minute, once, bound to client, redirect URI and challenge. */
export function createCodes({ db, grants, consents, now }: CodesDeps) {
  const redeemShown = createRedemption({ db, now });

  /** A code with its row, which is inserted by the statement that creates its session (`sessions.signIn`). */
  function prepare(client: Client, request: AuthorizeRequest, session: PreparedFor) {
    const code = newSecret();
    return { code, row: JSON.stringify(rowOf(code, client, request, session, now())) };
  }

  return {
    prepare,

    /** For a session that exists already. */
    async issue(client: Client, request: AuthorizeRequest, session: CodeSession): Promise<string> {
      const { code, row } = prepare(client, request, session);
      await db.statement(issueStatement, [row]);
      return code;
    },

    /** @throws OAuthError invalid_grant, one for every reason */
    async redeem(client: Client, { code, redirectUri, verifier }: Redemption): Promise<Redeemed> {
      if (verifier !== null && !isVerifier(verifier)) throw refused();
      const [grantId, refreshToken] = [uuidv7(), newSecret()];
      const challenge = verifier === null ? null : challengeOf(verifier);
      const found = await redeemShown({ client, code, redirectUri, challenge, grantId, refreshToken });
      // RFC 6749 §4.1.2: a code used twice revokes its tokens, however much later that is.
      if (found.spentFor !== null) await grants.revoke(found.spentFor, 'code_reuse');
      if (!found.granted) throw refused();
      const { granted, nonce } = found;
      // Consent was withdrawn since the code was issued, or is only required since then.
      if (client.consentRequired && !(await consents.cover(client, granted.identityId, granted.scope))) {
        await grants.revoke(grantId, 'consent_missing');
        throw refused();
      }
      return { granted, nonce, refreshToken };
    },
  };
}

/** A session that may not exist yet. */
type PreparedFor = Omit<CodeSession, 'id'> & { id?: string };

const rowOf = (code: string, client: Client, request: AuthorizeRequest, session: PreparedFor, at: Date) => ({
  code_hash: `\\x${hashSecret(code).toString('hex')}`,
  account_id: client.accountId,
  environment_id: client.environmentId,
  oauth_client_id: client.id,
  session_id: session.id,
  redirect_uri: request.redirectUri,
  scope: request.scope,
  nonce: request.nonce,
  code_challenge: request.codeChallenge,
  authenticated_at: session.authenticatedAt,
  auth_time: session.authTime ?? null,
  amr: session.amr,
  acr: session.acr,
  created_at: at,
  expires_at: after(at, codeLife),
  organization_id: session.organizationId,
});

export type Codes = ReturnType<typeof createCodes>;

const refused = () =>
  new OAuthError('invalid_grant', 'the code is unknown, expired, already used, or does not match this request');
