import type { FastifyRequest } from 'fastify';
import type { Provider } from '../../domain/oidc/provider.js';
import type { SecretCookie } from '../browsers/secret-cookie.js';
import { onceSignedIn } from './visit.js';

/** A sign-in whose form was sent again after it had done its work. */
export interface DoneBefore {
  environmentId: string;
  /** Null if the person cannot be determined. */
  identityId: string | null;
  /** A session that is not older was begun by this sign-in, or by a later one. */
  since: Date;
  /** The parameters of its authorization request. */
  parameters: Record<string, string>;
}

/**
 * Returns the authorization request with which a browser continues after it has sent its form twice: it uses the
 * session that the answer to the first form set, and continues as that session's person. Null if the browser has no
 * session of the same person: then the form was not this browser's, or the first answer never arrived, and what is
 * spent yields neither a session nor a code (docs/decisions/0013).
 */
export async function continueSignedIn(
  { sessions }: Pick<Provider, 'sessions'>,
  browser: Pick<SecretCookie, 'read'>,
  request: FastifyRequest,
  { environmentId, identityId, since, parameters }: DoneBefore,
): Promise<Record<string, string> | null> {
  const session = await sessions.find(browser.read(request), environmentId, null); // the next request uses it
  if (!session || session.identityId !== identityId) return null;
  const isNew = session.authenticatedAt >= since;
  return isNew ? onceSignedIn(parameters) : parameters;
}
