import type { FastifyPluginAsync } from 'fastify';
import { Type } from 'typebox';
import { OneOf } from './surfaces/schemas.js';

export type CheckState = 'ok' | 'unavailable' | 'outdated';
export interface HealthOptions {
  /** The state of each part by name; a check that throws says `unavailable`. */
  checks: Record<string, () => Promise<CheckState>>;
  /** Parts without which the api still serves: they are reported, but do not take it out of rotation. */
  dispensable?: readonly string[];
}

const Status = OneOf(['ok', 'unavailable', 'outdated']);
const Readiness = Type.Object({
  status: OneOf(['ok', 'degraded', 'unavailable', 'stopping']),
  checks: Type.Record(Type.String(), Status),
});

/** Serves `/healthz`, whether the process lives, and `/readyz`, whether it can serve, with the state of each part. */
export const health: FastifyPluginAsync<HealthOptions & { isStopping: () => boolean }> = async (
  app,
  { checks, dispensable = [], isStopping },
) => {
  const config = { neverShed: true };
  const Alive = Type.Object({ status: Status });
  app.get('/healthz', { config, schema: { hide: true, response: { 200: Alive } } }, async () => ({ status: 'ok' }));
  app.get(
    '/readyz',
    { config, schema: { hide: true, response: { 200: Readiness, 503: Readiness } } },
    async (_request, reply) => {
      const states = await Promise.all(
        Object.entries(checks).map(
          async ([name, check]) => [name, await within(4000, check()).catch(() => 'unavailable')] as const,
        ),
      );
      const away = states.filter(([, state]) => state !== 'ok').map(([name]) => name);
      const serves = away.every((name) => dispensable.includes(name));
      const part = away.length === 0 ? 'ok' : serves ? 'degraded' : 'unavailable';
      const status = isStopping() ? 'stopping' : part;
      const isReady = serves && status !== 'stopping';
      if (!isReady) reply.header('retry-after', 5);
      return reply.code(isReady ? 200 : 503).send({ status, checks: Object.fromEntries(states) });
    },
  );
};

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
