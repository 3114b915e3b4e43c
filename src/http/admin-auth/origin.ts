import type { onRequestAsyncHookHandler } from 'fastify';
import { DomainError } from '../../domain/errors.js';

/**
 * Refuses what another site's page had a browser send, wherever cookies are read or set. Requests without an Origin are no
 * browser's posts.
 */
export const sameOrigin =
  (baseUrl: string): onRequestAsyncHookHandler =>
  async ({ headers }) => {
    const { origin } = headers;
    if (origin === undefined || origin === baseUrl) return;
    // Fetch §3.2: a page whose referrer policy is no-referrer, as ours are, posts with the Origin `null`.
    if (origin === 'null' && headers['sec-fetch-site'] === 'same-origin') return;
    throw new DomainError('origin.foreign');
  };
