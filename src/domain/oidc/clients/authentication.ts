import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../platform/clock.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import { isSecretNow } from '../../one-time/rotated-secrets.js';
import { clientRefused, OAuthError } from '../oauth-error.js';
import type { Parameters } from '../requests/parameters.js';
import type { ClientAssertions } from './assertions.js';
import type { Client, Clients } from './clients.js';

export const clientAuthenticationMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
] as const;

/** The parameters by which a client identifies itself. */
export const clientParameters = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const;

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Presented =
  | { method: 'client_secret_basic' | 'client_secret_post'; clientId: string; secret: string }
  | { method: 'private_key_jwt'; clientId: string; assertion: string }
  | { method: 'none'; clientId: string };

export interface ClientAuthentication {
  /**
   * Authenticates the client by the method with which it is registered; a secret may come in the header or in the body,
   * for either of the two secret methods.
   * @throws OAuthError invalid_client, invalid_request
   */
  authenticate(authorization: string | undefined, parameters: Parameters): Promise<Client>;
}

/** Client authentication at the token endpoint and its kin (RFC 6749 §2.3, RFC 7523). */
export function createClientAuthentication({
  clients,
  assertions,
  now,
}: {
  clients: Clients;
  assertions: ClientAssertions;
  now: Clock;
}): ClientAuthentication {
  const fits = (client: Client, presented: Presented) => fitsAt(client, presented, now());
  return {
    async authenticate(authorization, parameters) {
      const presented = presentedIn(authorization, parameters, assertions.subjectOf);
      let client = await clients.find(presented.clientId);
      // The cached client may have the former secret: nobody is refused with the secret that they were just given.
      if (client && !fits(client, presented)) client = await clients.findAnew(presented.clientId);
      if (!client || !fits(client, presented)) throw clientRefused();
      if (!('assertion' in presented)) return client;
      await assertions.assertValid(client, presented.assertion);
      // Fetching its keys can take seconds: the client may have been deleted since, or have others.
      const still = await clients.find(presented.clientId);
      if (!still || !fits(still, presented) || !hasKeysOf(still, client)) throw clientRefused();
      return still;
    },
  };
}

function presentedIn(
  authorization: string | undefined,
  parameters: Parameters,
  subjectOf: (assertion: string) => string | null,
): Presented {
  const clientId = parameters.get('client_id');
  const secret = parameters.get('client_secret');
  const assertion = parameters.get('client_assertion');
  const type = parameters.get('client_assertion_type');
  const basic = authorization === undefined ? null : basicOf(authorization);
  const methods = [basic, secret, assertion ?? type].filter((method) => method != null);
  // RFC 6749 §2.3: no more than one method in a request.
  if (methods.length > 1) throw new OAuthError('invalid_request', 'authenticate the client in one way only');

  if (basic) {
    if (clientId !== undefined && clientId !== basic.clientId) throw clientRefused();
    // RFC 6749 §2.3.1: an empty secret may be left out. Some libraries send it for public clients, in the header as
    // well.
    if (basic.secret === '') return { method: 'none', clientId: basic.clientId };
    return { method: 'client_secret_basic', ...basic };
  }
  if (assertion !== undefined || type !== undefined) {
    const subject = assertion === undefined ? null : subjectOf(assertion);
    if (type !== assertionType || assertion === undefined || subject === null) throw clientRefused();
    if (clientId !== undefined && clientId !== subject) throw clientRefused();
    return { method: 'private_key_jwt', clientId: subject, assertion };
  }
  if (clientId === undefined) throw clientRefused();
  if (secret !== undefined) return { method: 'client_secret_post', clientId, secret };
  return { method: 'none', clientId };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they become a Basic credential. */
function basicOf(authorization: string): { clientId: string; secret: string } {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization)?.[1];
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  if (id === undefined || secret === undefined) throw clientRefused();
  try {
    return { clientId: formDecoded(id), secret: formDecoded(secret) };
  } catch {
    throw clientRefused(); // a stray percent sign
  }
}

const formDecoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/** The methods that show the secret itself. */
export const isBySecret = (method: string) => method === 'client_secret_basic' || method === 'client_secret_post';

const hasKeysOf = (one: Client, other: Client) =>
  one.jwksUri === other.jwksUri && isDeepStrictEqual(one.jwks, other.jwks);

/** The client must be registered for that kind of proof, and the secret, if one was presented, must be its own. */
function fitsAt(client: Client, presented: Presented, at: Date): boolean {
  const { tokenEndpointAuthMethod, secretHash } = client;
  // RFC 6749 §2.3.1: a client with a secret may send it in the header. Stock libraries mix up header and body.
  if (!('secret' in presented)) return tokenEndpointAuthMethod === presented.method;
  if (!isBySecret(tokenEndpointAuthMethod) || secretHash === null) return false;
  return isSecretNow(client, hashSecret(presented.secret), at);
}
