import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import type { AnsweredSsoRequest, SsoPurpose } from '../../domain/sso-sign-in/requests.js';

export type Answer = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;

/** A browser that has come for the result of a sign-in. */
export interface Arriving {
  request: FastifyRequest;
  /** Whether its person has confirmed to continue, although somebody else is signed in there. */
  isConfirmed: boolean;
}

/**
 * Somebody else is signed in in the browser, and nobody there has asked for the sign-in. Thrown, so that nothing
 * changes before the person is asked.
 */
export class Unconfirmed extends Error {
  /** @param ask the question, by a form with these fields */
  constructor(readonly ask: (fields: Record<string, string>) => Answer) {
    super('somebody else is signed in');
  }
}

/** Handles a browser that comes back from an identity provider, by the purpose for which it was sent there. */
export interface SsoFinisher {
  /**
   * Applies the provider's answer, in the transaction that completes the request; runs again after a lost race.
   * @returns the answer to the browser, to be sent after the transaction
   * @throws Unconfirmed
   */
  settle(tx: EntityManager, completed: AnsweredSsoRequest, arriving: Arriving): Promise<Answer>;
  /** Begins again with the original parameters, if the request was completed before, or its answer was lost. */
  again(parameters: Record<string, string>, state: 'over' | 'unanswered'): Answer;
}

export type SsoFinishers = Partial<Record<SsoPurpose, SsoFinisher>>;
