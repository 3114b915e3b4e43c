import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import type { AnsweredSsoRequest, SsoPurpose } from '../../domain/sso-sign-in/requests.js';

export type Answer = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;

/** What becomes of a browser that comes back from an identity provider, by what it was sent there for. */
export interface SsoFinisher {
  /**
   * What the provider's answer changes, in the transaction that completes the request; it runs again where it has lost a race.
   * @returns what the browser is told of it, after the transaction
   */
  settle(tx: EntityManager, completed: AnsweredSsoRequest): Promise<Answer>;
  /** It was completed before, or its answer was lost on the way: the same from its beginning, with what it was for. */
  again(parameters: Record<string, string>, state: 'over' | 'unanswered'): Answer;
}

export type SsoFinishers = Partial<Record<SsoPurpose, SsoFinisher>>;
