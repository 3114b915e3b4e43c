import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { lastPage, type paginated } from './lists.js';

type Answered = Partial<ReturnType<typeof paginated>> | null;

/**
 * Adds a link to the next page to every list: `Link: <…>; rel="next"` (RFC 8288), the same request for the page behind
 * this one, as a path on the requested host. In a list by age, it names the last item and not a page number, so that no
 * item is shown twice or left out when others are added or deleted between two pages.
 */
export function linkPages(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { 200: answer } = (route.schema?.response ?? {}) as Record<number, { properties?: object } | undefined>;
    if (!answer?.properties || !('pagination' in answer.properties)) return;
    const preSerialization = (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done) => {
      const link = nextOf(request, payload as Answered);
      if (link !== null) reply.header('link', link);
      done(null, payload);
    };
    route.preSerialization = [route.preSerialization ?? [], preSerialization].flat();
  });
}

type Done = (error: Error | null, payload: unknown) => void;

function nextOf({ url }: FastifyRequest, answered: Answered): string | null {
  if (!answered?.pagination?.has_next_page) return null;
  const { pagination, next } = answered;
  const number = pagination.page + 1;
  if (number > lastPage && !next) return null;
  const [path] = url.split('?', 1) as [string];
  const parameters = new URLSearchParams(url.slice(path.length));
  parameters.set('page', String(Math.min(number, lastPage)));
  if (next) parameters.set('after', next);
  return `<${path}?${parameters}>; rel="next"`;
}
