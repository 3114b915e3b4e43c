import type { FastifyRequest } from 'fastify';
import type { Provider } from '../../domain/oidc/provider.js';
import type { SecretCookie } from '../secret-cookie.js';
import { onceSignedIn } from './visit.js';

/** A sign-in of which a form comes once more that has done its work. */
export interface DoneBefore {
  environmentId: string;
  /** Null for who cannot be told. */
  identityId: string | null;
  /** A session that is no older was begun by it, or by one that came after it. */
  since: Date;
  /** Of its authorization request. */
  parameters: Record<string, string>;
}

/**
 * The authorization request by which a browser goes on whose form has come twice: with the session that the answer to the first
 * one brought it, and as whoever comes with that. Null where it holds none of the same person: then it was not this browser's
 * form, or that answer never came, and neither a session nor a code is made of what is spent (docs/decisions/0013).
 */
export async function wayOnSignedIn(
  { sessions }: Pick<Provider, 'sessions'>,
  browser: Pick<SecretCookie, 'read'>,
  request: FastifyRequest,
  { environmentId, identityId, since, parameters }: DoneBefore,
): Promise<Record<string, string> | null> {
  const session = await sessions.find(browser.read(request), environmentId, null); // to be used by the request that follows
  if (!session || session.identityId !== identityId) return null;
  const isNew = session.authenticatedAt >= since;
  return isNew ? onceSignedIn(parameters) : parameters;
}
