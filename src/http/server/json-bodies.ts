import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { type Extent, worthReading } from './body-extents.js';

/** Deeper than anything meaningful, and far from where recursion (ours, JSON's or PostgreSQL's) ends. */
const deepest = 100;

type Excess = 'too_deep' | 'too_many';

/**
 * Reads JSON bodies. Refuses what is not UTF-8 (RFC 8259 §8.1), since it would be stored as other characters; what is
 * nested so deeply that walking through it exhausts the stack; and what has so many parts that everybody else would
 * wait for it.
 */
export function readJsonBodies(app: FastifyInstance): void {
  readJsonAs(app, 'application/json');
}

/**
 * Reads bodies of a media type with JSON syntax, such as `application/scim+json`, by the same rules.
 * @param withoutSchema the largest body for routes without a schema
 */
export function readJsonAs(app: FastifyInstance, contentType: string, withoutSchema = worthReading(undefined)): void {
  app.removeContentTypeParser(contentType);
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser(contentType, { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isUtf8(bytes as Buffer)) return done(new DomainError('body.malformed'));
    const body = bytes.toString();
    // Clients send their usual type with every request, also without a body.
    const schema = request.routeOptions.schema?.body as { nullable?: boolean } | undefined;
    if (body === '' && (schema?.nullable ?? !schema)) return done(null, undefined);
    const excess = excessOf(body, { deepest, ...(schema ? worthReading(schema) : withoutSchema) });
    if (excess) return done(refused(excess));
    void parse(request, body, done);
  });
}

/**
 * Returns what a text has too much of, outside of strings: open brackets at once, or members and elements, in one of
 * them or in all. It runs before parsing, which takes several times as long, while nothing else can run.
 */
export function excessOf(text: string, { deepest, parts, widest }: Extent & { deepest: number }): Excess | null {
  if (text.length <= Math.min(deepest, parts, widest)) return null;
  /** The number of commas in each open bracket. */
  const open: number[] = [];
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') i = endOfString(text, i + 1);
    else if (character === ',') {
      const commas = ((open[open.length - 1] ?? 0) as number) + 1;
      if (++count > parts || commas >= widest) return 'too_many';
      open[open.length - 1] = commas;
    } else if (character === '{' || character === '[') {
      if (++count > parts) return 'too_many';
      if (open.push(0) > deepest) return 'too_deep';
    } else if (character === '}' || character === ']') open.pop();
  }
  return null;
}

/** Returns the position of the quote that ends the string; past the end of the text if there is none. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === '\\') first--;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

const words: Record<Excess, string> = {
  too_deep: `is nested more than ${deepest} levels deep`,
  too_many: 'has far more members and elements than can be meant',
};
const refused = (code: Excess) =>
  new DomainError('validation.failed', { details: [{ field: '', code, message: words[code] }] });
