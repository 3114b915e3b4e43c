import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.js';

/** Deeper than anything that means something, and far from where recursion (ours, JSON's or PostgreSQL's) ends. */
const deepest = 100;

/**
 * Reads JSON bodies, and refuses what is not UTF-8 (RFC 8259 §8.1), which would be kept with other signs in it than were sent, and
 * what is nested so deeply that whoever walks through it runs out of stack.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeContentTypeParser('application/json');
  readJsonAs(app, 'application/json');
}

/** The same for a type of which JSON is the syntax, such as `application/scim+json`. */
export function readJsonAs(app: FastifyInstance, contentType: string): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser(contentType, { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isUtf8(bytes as Buffer)) return done(new DomainError('body.malformed'));
    const body = bytes.toString();
    // Clients name their usual type with every request, also where there is nothing to send.
    if (body === '' && !request.routeOptions.schema?.body) return done(null, undefined);
    if (isDeeper(body, deepest)) return done(tooDeep());
    void parse(request, body, done);
  });
}

/** Whether more brackets than `most` are open at once, outside of strings. */
export function isDeeper(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') i = endOfString(text, i + 1);
    else if (character === '{' || character === '[') {
      if (++depth > most) return true;
    } else if (character === '}' || character === ']') depth--;
  }
  return false;
}

/** Where the quote is that ends the string; behind the text when it does not end. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === '\\') first--;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

const tooDeep = () =>
  new DomainError('validation.failed', {
    details: [{ field: '', code: 'too_deep', message: `is nested more than ${deepest} levels deep` }],
  });
