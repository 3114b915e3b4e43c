import type { Client, Clients } from '../clients/clients.js';
import { isRegistered } from '../clients/redirect-uris.js';
import type { SigningKeys } from '../keys.js';
import { OAuthError } from '../oauth-error.js';
import { isReturnable } from './authorize-request.js';
import { type Hint, maxHintLength, readHint } from './hints.js';
import { onlyOnce, type ReadParameters } from './parameters.js';

/** A valid request of RP-Initiated Logout 1.0 §2. */
export interface LogoutRequest {
  client: Client | null;
  hint: Hint | null;
  /** Where the browser is sent afterwards: an address that the client has registered. */
  redirectUri: string | null;
  state: string | null;
  parameters: Record<string, string>;
}

const known = ['id_token_hint', 'logout_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'] as const;
const maxLength = 8192;
const isTooLong = ([name, value]: [string, string]) =>
  name === 'state' ? !isReturnable(value) : value.length > (name === 'id_token_hint' ? maxHintLength : maxLength);

/** @throws OAuthError invalid_request, which is shown on a page */
export async function parseLogoutRequest(
  read: ReadParameters,
  { clients, keys }: { clients: Clients; keys: SigningKeys },
): Promise<LogoutRequest> {
  const values = onlyOnce(read, known);
  const parameters = Object.fromEntries([...values].filter(([name]) => (known as readonly string[]).includes(name)));
  if (Object.entries(parameters).some(isTooLong)) throw invalid('a parameter is too long');

  const hintToken = values.get('id_token_hint');
  const hint = hintToken === undefined ? null : await readHint(keys, hintToken);
  const clientId = values.get('client_id') ?? hint?.clientId;
  if (hint && clientId !== hint.clientId) throw invalid('id_token_hint was issued to another client');
  const client = clientId === undefined ? null : await clients.find(clientId);
  if (clientId !== undefined && !client) throw invalid('client_id is unknown');

  const redirectUri = values.get('post_logout_redirect_uri') ?? null;
  if (redirectUri !== null && !client) throw invalid('post_logout_redirect_uri needs id_token_hint or client_id');
  if (redirectUri !== null && !isRegistered(redirectUri, client?.postLogoutRedirectUris ?? [])) {
    throw invalid('post_logout_redirect_uri is not registered for this client');
  }
  return { client, hint, redirectUri, state: values.get('state') ?? null, parameters };
}

const invalid = (description: string) => new OAuthError('invalid_request', description);
