import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { inShareOf } from '../../platform/context.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import { httpStatusOf } from '../error-statuses.js';
import { refusalOf } from '../errors.js';
import type { RateLimits } from '../surfaces/rate-limits.js';

/**
 * Authenticates a client, and counts its request. An authenticated client counts as a whole and not by address: one
 * server asks for all the people who use it. A public client can be named by anybody, so each address counts by itself;
 * otherwise one could use up everybody's share. A request that authenticates no client counts by its address.
 * @param onProven gets the client before its request is counted, so that its scripts can read a refusal by the limit
 * @throws DomainError rate_limit.exceeded; what `proving` throws
 */
export async function countedAs<C extends Pick<Client, 'accountId' | 'clientId' | 'clientType'>>(
  limits: Pick<RateLimits, 'general'>,
  request: FastifyRequest,
  reply: FastifyReply,
  proving: Promise<C>,
  onProven: (client: C) => void = () => {},
): Promise<C> {
  const { ip } = request;
  const client = await proving.catch(async (error) => {
    await limits.general('anonymous', ip, reply);
    throw error;
  });
  onProven(client);
  inShareOf(client.accountId);
  const { clientId, clientType } = client;
  await limits.general('apiKey', clientType === 'public' ? `${clientId} ${subscriberOf(ip)}` : clientId, reply);
  return client;
}

/**
 * For plugins whose routes count a request once they have authenticated its client: counts by its address what they
 * refuse before that, such as a body that is malformed.
 */
export function countRefusals(app: FastifyInstance, limits: Pick<RateLimits, 'general'>): void {
  app.setErrorHandler(async (error, request, reply) => {
    if (isRefusal(error) && !request.isCounted) await limits.general('anonymous', request.ip, reply);
    throw error; // the surface's handler answers it
  });
}

/** Whether an error is the caller's doing, as opposed to an outage or a fault of ours. */
function isRefusal(error: unknown): boolean {
  const refusal = refusalOf(error);
  return error instanceof OAuthError || (refusal !== null && httpStatusOf(refusal.code) < 500);
}
