import type { FastifyPluginAsync } from 'fastify';
import { Type } from 'typebox';
import { OneOf } from './schemas.js';

export type CheckState = 'ok' | 'unavailable' | 'outdated';
export interface HealthOptions {
  /** Each part that readiness depends on, by name; a check that throws says `unavailable`. */
  checks: Record<string, () => Promise<CheckState>>;
}

const Status = OneOf(['ok', 'unavailable', 'outdated']);
const Readiness = Type.Object({ status: Status, checks: Type.Record(Type.String(), Status) });

/** `/healthz`: the process lives. `/readyz`: it can serve, with the state of each part. */
export const health: FastifyPluginAsync<HealthOptions> = async (app, { checks }) => {
  app.get('/healthz', { schema: { hide: true, response: { 200: Type.Object({ status: Status }) } } }, async () => ({
    status: 'ok',
  }));
  app.get(
    '/readyz',
    { schema: { hide: true, response: { 200: Readiness, 503: Readiness } } },
    async (_request, reply) => {
      const states = await Promise.all(
        Object.entries(checks).map(
          async ([name, check]) => [name, await within(4000, check()).catch(() => 'unavailable')] as const,
        ),
      );
      const status = states.every(([, state]) => state === 'ok') ? 'ok' : 'unavailable';
      return reply.code(status === 'ok' ? 200 : 503).send({ status, checks: Object.fromEntries(states) });
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
