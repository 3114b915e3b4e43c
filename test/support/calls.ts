import type { LightMyRequestResponse } from 'fastify';
import type { TestApi } from './api.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Call = (
  method: Method,
  path: string,
  payload?: object,
  more?: Record<string, string>,
) => Promise<LightMyRequestResponse>;

/** Returns calls below one Account's prefix with one administrator's credential. */
export const callsOf =
  ({ app }: TestApi, accountSlug: string, headers: Record<string, string>): Call =>
  (method, path, payload, more = {}) =>
    app.inject({
      method,
      url: `/portal/v1/accounts/${accountSlug}${path}`,
      headers: { ...headers, ...more },
      ...(payload && { payload }),
    });
