import { v4 as uuidv4 } from 'uuid';
import type { Clock } from '../../../platform/clock.js';
import { fittingBeside, type RootPermissions } from '../../access/decisions/root-permissions.js';
import { bytesOfJson } from '../../limits/fitting-json.js';
import { fittingToken, type OrganizationsClaim } from '../../organizations/claim.js';
import type { Client } from '../clients/clients.js';
import type { SigningKeys } from '../keys.js';
import type { ScopeName } from '../scopes.js';
import { accessTokenClaims, type Granted, type Issuing, idTokenClaims } from './claims.js';

/** RFC 6749 §5.1, OpenID Connect Core 3.1.3.3. */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
  id_token?: string;
}

export interface TokenRequest {
  client: Client;
  granted: Granted;
  scope: readonly string[];
  nonce: string | null;
  refreshToken: string;
}

export interface TokensDeps {
  keys: SigningKeys;
  rootPermissions: RootPermissions;
  organizationsClaim: OrganizationsClaim;
  baseUrl: string;
  now: Clock;
}

/** Signs the tokens of a grant. Nothing is stored here: an access token is proved by its grant. */
export function createTokens({ keys, rootPermissions, organizationsClaim, baseUrl, now }: TokensDeps) {
  async function issuingOf({
    client,
    granted,
    scope: asked,
  }: Pick<TokenRequest, 'client' | 'granted' | 'scope'>): Promise<Issuing> {
    // The client may be allowed less than at the time of its grant.
    const scope = asked.filter((name) => client.scopes.includes(name));
    const has = (name: ScopeName) => scope.includes(name);
    const of = [client.environmentId, granted.identityId] as const;
    const [held, organizations] = await Promise.all([
      has('permissions') ? rootPermissions(...of) : undefined,
      has('org') ? organizationsClaim(...of, granted.organizationId).then(fittingToken) : undefined,
    ]);
    return {
      baseUrl,
      at: now(),
      client,
      granted,
      scope,
      ...(held && { permissions: fittingBeside(organizations ? bytesOfJson(organizations.organizations) : 0, held) }),
      ...(organizations && { organizations }),
    };
  }
  async function withoutIdToken(issuing: Issuing, refreshToken: string): Promise<Omit<TokenAnswer, 'id_token'>> {
    return {
      access_token: await keys.sign(accessTokenClaims(issuing, uuidv4()), { typ: 'at+jwt' }),
      token_type: 'Bearer',
      expires_in: issuing.client.settings.accessTokenTtlSeconds,
      refresh_token: refreshToken,
      // Empty if nothing is granted: left out, it would mean "everything that was asked for" (RFC 6749 §3.3 and §5.1).
      scope: issuing.scope.join(' '),
    };
  }

  return {
    async answer({ nonce, refreshToken, ...request }: TokenRequest): Promise<TokenAnswer> {
      const issuing = await issuingOf(request);
      const answer = await withoutIdToken(issuing, refreshToken);
      if (!issuing.scope.includes('openid')) return answer;
      // It contains the access token's hash, so it is signed after it.
      const claims = idTokenClaims(issuing, answer.access_token, nonce);
      return { ...answer, id_token: await keys.sign(claims, { typ: 'JWT' }) };
    },

    /** The answer of the end-user API if the client did not ask for an ID token: one signature less. */
    answerWithoutIdToken: async ({ refreshToken, ...request }: Omit<TokenRequest, 'nonce'>) =>
      withoutIdToken(await issuingOf(request), refreshToken),
  };
}

export type Tokens = ReturnType<typeof createTokens>;
