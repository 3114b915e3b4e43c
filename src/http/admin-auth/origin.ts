import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { answerPreflightsBelow, letScriptsRead } from '../browsers/cors.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import type { AdminAuthOptions } from './options.js';

export type AdminPages = Pick<AdminAuthOptions, 'baseUrl' | 'adminAppUrl'>;

/** The origin of the pages on which administrators sign in; null if it is the service's own. */
function adminOriginOf({ baseUrl, adminAppUrl = baseUrl }: AdminPages): string | null {
  const { origin } = new URL(adminAppUrl);
  return origin === new URL(baseUrl).origin ? null : origin;
}

/** Lets the scripts of these pages, and no others, call the plugin's routes below `prefix`. */
export function letAdminScriptsCall(app: FastifyInstance, pages: AdminPages, prefix: string): void {
  const adminOrigin = adminOriginOf(pages);
  if (adminOrigin === null) return;
  letScriptsRead(app, 'onRequest', (_request, origin) => origin === adminOrigin);
  answerPreflightsBelow(app, prefix);
}

/**
 * For routes that read or set the session's cookies: refuses what a page had a browser send that is neither ours nor
 * the administrators'.
 */
export function sameOrigin(pages: AdminPages): onRequestAsyncHookHandler {
  const adminOrigin = adminOriginOf(pages);
  return async (request) => {
    if (adminOrigin === null || request.headers.origin !== adminOrigin) assertOwnOrigin(request, pages.baseUrl);
  };
}
