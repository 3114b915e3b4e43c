import type { Client } from '../../domain/oidc/clients/clients.js';
import { isRegistered } from '../../domain/oidc/clients/redirect-uris.js';

/**
 * The request headers that a script of another origin may send everywhere: a traced page adds `traceparent` to each of
 * its requests.
 */
export const sendable = 'authorization, content-type, if-match, idempotency-key, x-request-id, traceparent, tracestate';

/** The settings that say where a client's scripts run. */
export interface Scripts extends Pick<Client, 'clientType' | 'redirectUris'> {
  settings: Pick<Client['settings'], 'allowedOrigins'>;
}

/**
 * Returns whether a client's scripts run at an origin: one that the Environment allows or, for a public client,
 * one of its redirect URIs.
 */
export function isOriginOf({ settings, clientType, redirectUris }: Scripts, origin: string): boolean {
  if (origin === 'null') return false;
  if (settings.allowedOrigins.includes(origin)) return true;
  const redirected = redirectUris.map((uri) => new URL(uri).origin);
  return clientType === 'public' && isRegistered(origin, redirected);
}
