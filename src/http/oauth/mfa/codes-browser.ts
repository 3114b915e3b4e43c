import type { FastifyReply, FastifyRequest } from 'fastify';
import { pendingSignInLife } from '../../../domain/logins/pending-sign-ins.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import { after } from '../../../platform/clock.js';
import { newSecret } from '../../../platform/crypto/one-time-secret.js';
import { isNoBrowser } from '../../origin.js';
import { wantsJson } from '../../pages/wants-json.js';
import { secretCookie } from '../../secret-cookie.js';

/** Holds what a script outside of browsers enrolled: nobody can be led to its JSON, and it may keep no cookies. */
const script = 'script';
const isScript = (request: FastifyRequest) => wantsJson(request) && isNoBrowser(request);

/**
 * Ties new recovery codes, and the sign-in that goes on after them, to the browser that enrolled: whoever was sent their link, or
 * finds it in a log, is neither shown the codes nor signed in as their owner (docs/decisions/0013).
 */
export function createCodesBrowser({ baseUrl, now }: Pick<Provider, 'baseUrl' | 'now'>) {
  const cookie = secretCookie(baseUrl, 'recovery_codes');
  return {
    read: cookie.read,

    /** What the form of an enrollment brings that nobody else has; null without the cookie that its page came with. */
    secretsOf(request: FastifyRequest, token: string): string[] | null {
      const browser = cookie.read(request);
      return browser === null ? null : [token, browser];
    },

    /** What names the browser, from now on if nothing did: its other tabs go on. */
    mark(request: FastifyRequest, reply: FastifyReply): string {
      if (isScript(request)) return script;
      const browser = cookie.read(request) ?? newSecret();
      cookie.set(reply, browser, after(now(), pendingSignInLife.enrollment), now());
      return browser;
    },

    /** What the caller has to show that it is the one. */
    presentedBy(request: FastifyRequest): string[] {
      const browser = cookie.read(request);
      return [...(browser === null ? [] : [browser]), ...(isScript(request) ? [script] : [])];
    },
  };
}
