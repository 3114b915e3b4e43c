import { v4 as uuidv4 } from 'uuid';
import type { Clock } from '../../platform/clock.js';
import { accessTokenClaims, type Granted, idTokenClaims } from './claims.js';
import type { Client } from './clients.js';
import type { SigningKeys } from './keys.js';

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

/** Signs what a grant gives. Nothing is stored here: an access token is proved by its grant. */
export function createTokens({ keys, baseUrl, now }: { keys: SigningKeys; baseUrl: string; now: Clock }) {
  return {
    async answer({ client, granted, scope, nonce, refreshToken }: TokenRequest): Promise<TokenAnswer> {
      const issuing = { baseUrl, at: now(), client, granted, scope };
      const accessToken = await keys.sign(accessTokenClaims(issuing, uuidv4()), { typ: 'at+jwt' });
      return {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: client.settings.accessTokenTtlSeconds,
        refresh_token: refreshToken,
        scope: scope.join(' '),
        // It names the access token by its hash, so it is signed after it.
        ...(scope.includes('openid') && {
          id_token: await keys.sign(idTokenClaims(issuing, accessToken, nonce), { typ: 'JWT' }),
        }),
      };
    },
  };
}

export type Tokens = ReturnType<typeof createTokens>;
