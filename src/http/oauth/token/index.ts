import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { clientParameters } from '../../../domain/oidc/clients/authentication.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { onlyOnce, type Parameters, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { tokenGrants } from '../../../platform/metrics/metrics.js';
import { countedAs } from '../../principals/client-limits.js';
import { allowOrigin, answerPreflights } from '../cors.js';
import { noStore, oauthCodeOf } from '../oauth-error.js';
import type { OAuthOptions } from '../options.js';
import { redeemCode } from './authorization-code.js';
import { refresh } from './refresh-token.js';

/** The supported grant types, which discovery lists. */
const grantTypes = { authorization_code: redeemCode, refresh_token: refresh } as const;

const parameters = [
  ...clientParameters,
  'grant_type',
  'code',
  'redirect_uri',
  'code_verifier',
  'refresh_token',
  'scope',
] as const;

/** The token endpoint (RFC 6749 §3.2). */
export const token: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, limits }) => {
  answerPreflights(app, '/oauth/token', 'POST');
  app.post('/oauth/token', async (request, reply) => {
    const counted = { grant_type: 'other', outcome: 'issued' };
    try {
      const values = onlyOnce(readParameters(request.body), parameters);
      if (isOffered(values.get('grant_type'))) counted.grant_type = grantTypeOf(values);
      const authenticating = provider.clientAuthentication.authenticate(request.headers.authorization, values);
      const client = await countedAs(limits, request, reply, authenticating, (one) => allowOrigin(request, reply, one));
      const grant = grantTypes[grantTypeOf(values)];
      return noStore(reply).send(await grant(provider, client, values));
    } catch (error) {
      counted.outcome = oauthCodeOf(error);
      throw error;
    } finally {
      tokenGrants.inc(counted);
    }
  });
};

type GrantType = keyof typeof grantTypes;
const isOffered = (grantType: string | undefined): grantType is GrantType =>
  grantType !== undefined && Object.hasOwn(grantTypes, grantType);

function grantTypeOf(values: Parameters): GrantType {
  const grantType = values.get('grant_type');
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing');
  if (isOffered(grantType)) return grantType;
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
}
