import type { FastifyPluginAsync } from 'fastify';
import { Type } from 'typebox';
import { type ReadinessChecks, statesOf } from '../platform/readiness.js';
import { OneOf } from './surfaces/schemas.js';

export interface HealthOptions {
  checks: ReadinessChecks;
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
      const states = await statesOf(checks);
      const failing = Object.entries(states).flatMap(([name, state]) => (state === 'ok' ? [] : [name]));
      const serves = failing.every((name) => dispensable.includes(name));
      const part = failing.length === 0 ? 'ok' : serves ? 'degraded' : 'unavailable';
      const status = isStopping() ? 'stopping' : part;
      const isReady = serves && status !== 'stopping';
      if (!isReady) reply.header('retry-after', 5);
      return reply.code(isReady ? 200 : 503).send({ status, checks: states });
    },
  );
};
