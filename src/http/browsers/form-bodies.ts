import { parse } from 'fast-querystring';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { countOf } from '../../platform/database/count-of.js';

const type = 'application/x-www-form-urlencoded';
/** Far more than any form of ours, or of a client, has. */
const maxFields = 1000;

/**
 * Reads forms, and refuses one with so many fields that everybody else would wait for it, before it is parsed, as for
 * JSON (`json-bodies.ts`). A part of the app that reads forms already keeps its parser.
 * @param bodyLimit in bytes; by default that of the app
 */
export function readForms(app: FastifyInstance, { bodyLimit }: { bodyLimit?: number } = {}): void {
  if (app.hasContentTypeParser(type)) return;
  app.addContentTypeParser(type, { parseAs: 'string', ...(bodyLimit && { bodyLimit }) }, (_, body, done) => {
    const text = body as string;
    if (countOf(text, '&') > maxFields) done(tooMany());
    else done(null, parse(text));
  });
}

const tooMany = () =>
  new DomainError('validation.failed', {
    details: [{ field: '', code: 'too_many', message: 'has far more fields than can be meant' }],
  });
