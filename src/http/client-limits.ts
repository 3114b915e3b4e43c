import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../domain/oidc/clients.js';
import { subscriberOf } from '../platform/subscriber.js';
import type { RateLimits } from './rate-limits.js';

type General = Pick<RateLimits, 'general'>;

/** Has whoever proves nothing count by where they are: what `proving` throws is thrown on. @throws DomainError rate_limit.exceeded */
export const countingRefusals = <T>(
  limits: General,
  { ip }: FastifyRequest,
  reply: FastifyReply,
  proving: Promise<T>,
): Promise<T> =>
  proving.catch(async (error) => {
    await limits.general('anonymous', ip, reply);
    throw error;
  });

/**
 * Counts a request of a client. One that has proved itself counts as a whole and not by address: one server asks for all the people
 * who use it. A public one is named by anybody who likes: there each address counts for itself, or one could use up what all others have.
 * @throws DomainError rate_limit.exceeded
 */
export const countClient = (
  limits: General,
  { clientId, clientType }: Pick<Client, 'clientId' | 'clientType'>,
  { ip }: FastifyRequest,
  reply: FastifyReply,
): Promise<void> =>
  limits.general('apiKey', clientType === 'public' ? `${clientId} ${subscriberOf(ip)}` : clientId, reply);
