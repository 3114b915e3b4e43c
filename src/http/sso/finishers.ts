import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import type { AnsweredSsoRequest, SsoPurpose } from '../../domain/sso-sign-in/requests.js';

export type Answer = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;

/** A browser that has come for an answer. */
export interface Arriving {
  request: FastifyRequest;
  /** Whether its person has said that they go on, although somebody else is signed in there. */
  isConfirmed: boolean;
}

/** Somebody else is signed in in the browser, and nobody there has asked for the sign-in. Thrown, so that nothing is changed before its person is asked. */
export class Unconfirmed extends Error {
  /** @param ask the question, by a form with these fields */
  constructor(readonly ask: (fields: Record<string, string>) => Answer) {
    super('somebody else is signed in');
  }
}

/** What becomes of a browser that comes back from an identity provider, by what it was sent there for. */
export interface SsoFinisher {
  /**
   * What the provider's answer changes, in the transaction that completes the request; it runs again where it has lost a race.
   * @returns what the browser is told of it, after the transaction
   * @throws Unconfirmed
   */
  settle(tx: EntityManager, completed: AnsweredSsoRequest, arriving: Arriving): Promise<Answer>;
  /** It was completed before, or its answer was lost on the way: the same from its beginning, with what it was for. */
  again(parameters: Record<string, string>, state: 'over' | 'unanswered'): Answer;
}

export type SsoFinishers = Partial<Record<SsoPurpose, SsoFinisher>>;
