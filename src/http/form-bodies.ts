import { parse } from 'fast-querystring';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.js';

const type = 'application/x-www-form-urlencoded';
/** Far more than any form of ours, or of a client, has. */
const mostFields = 1000;

/**
 * Reads forms, and refuses what has so many fields that everybody else waits for it: before it is read, as JSON (`json-bodies.ts`).
 * @param bodyLimit in bytes; by default that of the app
 */
export function readForms(app: FastifyInstance, { bodyLimit }: { bodyLimit?: number } = {}): void {
  if (app.hasContentTypeParser(type)) return;
  app.addContentTypeParser(type, { parseAs: 'string', ...(bodyLimit && { bodyLimit }) }, (_, body, done) => {
    const text = body as string;
    if (hasMore(text, '&', mostFields)) done(tooMany());
    else done(null, parse(text));
  });
}

/** Whether a character stands in a text more often than so many times. */
function hasMore(text: string, character: string, most: number): boolean {
  let times = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) if (++times > most) return true;
  return false;
}

const tooMany = () =>
  new DomainError('validation.failed', {
    details: [{ field: '', code: 'too_many', message: 'has far more fields than can be meant' }],
  });
