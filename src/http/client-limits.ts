import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../domain/oidc/clients.js';
import { subscriberOf } from '../platform/database/subscriber.js';
import type { RateLimits } from './rate-limits.js';

/**
 * The client that proves itself, with its request counted. One that has proved itself counts as a whole and not by address: one
 * server asks for all the people who use it. A public one is named by anybody who likes: there each address counts for itself, or one
 * could use up what all others have. Whoever proves nothing counts by where they are.
 * @param onProven told of the client before it is counted, so that a refusal by the limit is readable where its answers are
 * @throws DomainError rate_limit.exceeded; what `proving` throws
 */
export async function countedAs<C extends Pick<Client, 'clientId' | 'clientType'>>(
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
  const { clientId, clientType } = client;
  await limits.general('apiKey', clientType === 'public' ? `${clientId} ${subscriberOf(ip)}` : clientId, reply);
  return client;
}
