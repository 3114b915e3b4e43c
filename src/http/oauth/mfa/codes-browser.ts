import type { FastifyReply, FastifyRequest } from 'fastify';
import { pendingSignInLife } from '../../../domain/logins/pending-sign-ins.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import { after } from '../../../platform/clock.js';
import { newSecret } from '../../../platform/crypto/one-time-secret.js';
import { isNoBrowser } from '../../browsers/origin.js';
import { secretCookie } from '../../browsers/secret-cookie.js';
import { wantsJson } from '../../pages/wants-json.js';

/** The holder of what a script outside of browsers enrolled: nobody can be led to its JSON; it may keep no cookies. */
const script = 'script';
const isScript = (request: FastifyRequest) => wantsJson(request) && isNoBrowser(request);

/**
 * Ties new recovery codes, and the sign-in that continues after them, to the browser that enrolled the factor: somebody
 * who was sent the link, or finds it in a log, is neither shown the codes nor signed in as their owner
 * (docs/decisions/0013).
 */
export function createCodesBrowser({ baseUrl, now }: Pick<Provider, 'baseUrl' | 'now'>) {
  const cookie = secretCookie(baseUrl, 'recovery_codes');
  return {
    read: cookie.read,

    /** The secrets that come with an enrollment form, which nobody else has; null without its page's cookie. */
    secretsOf(request: FastifyRequest, token: string): string[] | null {
      const browser = cookie.read(request);
      return browser === null ? null : [token, browser];
    },

    /** Returns the browser's secret, new only if it has none, so that its other tabs can continue. */
    mark(request: FastifyRequest, reply: FastifyReply): string {
      if (isScript(request)) return script;
      const browser = cookie.read(request) ?? newSecret();
      cookie.set(reply, browser, after(now(), pendingSignInLife.enrollment), now());
      return browser;
    },

    /** The proofs in a request that its caller is the one who enrolled. */
    presentedBy(request: FastifyRequest): string[] {
      const browser = cookie.read(request);
      return [...(browser === null ? [] : [browser]), ...(isScript(request) ? [script] : [])];
    },
  };
}
