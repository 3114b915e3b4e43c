import type { RouteOptions } from 'fastify';
import type { CountingHook, DocumentedLimit } from '../surfaces/rate-limits.js';

/**
 * Returns what a route's documentation says about the limits that its hooks count, such as
 * `Limit: 10 per 15 minutes and IP address.`; null if there are none.
 */
export function limitsInWords(route: Pick<RouteOptions, 'onRequest' | 'preValidation' | 'preHandler'>): string | null {
  const hooks: unknown[] = [route.onRequest, route.preValidation, route.preHandler].flat();
  const limits = hooks.flatMap((hook) => (isCounting(hook) ? [describeLimit(hook.limit)] : []));
  if (limits.length === 0) return null;
  return `${limits.length === 1 ? 'Limit' : 'Limits'}: ${limits.join(', and ')}.`;
}

const isCounting = (hook: unknown): hook is CountingHook => typeof hook === 'function' && 'limit' in hook;

function describeLimit({ points, windowSeconds, counted }: DocumentedLimit): string {
  const isHours = windowSeconds % 3600 === 0;
  const count = windowSeconds / (isHours ? 3600 : 60);
  const unit = isHours ? 'hour' : 'minute';
  return `${points} per ${count === 1 ? unit : `${count} ${unit}s`} and ${counted}`;
}
