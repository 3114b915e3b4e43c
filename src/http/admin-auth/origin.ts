import type { onRequestAsyncHookHandler } from 'fastify';
import { assertOwnOrigin } from '../oauth/origin.js';

/** For routes that read or set the session's cookies: refuses what another site's page had a browser send. */
export const sameOrigin =
  (baseUrl: string): onRequestAsyncHookHandler =>
  async (request) =>
    assertOwnOrigin(request, baseUrl);
