import { seconds } from './clock.js';

/** `unavailable`: the service could not be asked, which is not the fault of the person who is checked. */
export type CaptchaVerdict = 'passed' | 'refused' | 'unavailable';

export interface Captcha {
  /** The key for the page's widget; null when no keys are configured. */
  siteKey: string | null;
  /**
   * Whether a person solved it. An empty token is refused without asking; without keys, or an answer in time, nobody
   * passes.
   */
  verify(token: string, ipAddress: string): Promise<CaptchaVerdict>;
}

export interface CaptchaOptions {
  siteKey: string | null;
  secretKey: string | null;
  /**
   * Where tokens are verified: at Cloudflare, or a service with the same API. The operator chooses it, so it may be
   * private.
   */
  verifyUrl: string;
  /** Called when the service cannot be asked; without its answer nobody passes. */
  onOutage?: (error: unknown) => void;
}

const timeLimit = seconds(5);
/** Cloudflare's own limit of a token. */
const longestToken = 2048;

/** Cloudflare's errors about our key, and about itself: the person who solved the captcha did nothing wrong. */
const notAboutTheToken = new Set<unknown>(['missing-input-secret', 'invalid-input-secret', 'internal-error']);

/** The service answered without checking the token. Its code is for the log. */
class NotVerified extends Error {
  override name = 'NotVerified';
  constructor(readonly code: string) {
    super(`the captcha service answers ${code}`);
  }
}

/** Cloudflare Turnstile (contract §3). It fails closed: what was not verified is refused. */
export function createCaptcha({ siteKey, secretKey, verifyUrl, onOutage = () => {} }: CaptchaOptions): Captcha {
  async function ask(secret: string, token: string, ipAddress: string): Promise<boolean> {
    const answer = await fetch(verifyUrl, {
      method: 'POST',
      body: new URLSearchParams({ secret, response: token, remoteip: ipAddress }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimit),
    });
    if (answer.status === 429 || answer.status >= 500) throw new NotVerified(String(answer.status));
    const told = (await answer.json()) as { success?: unknown; 'error-codes'?: unknown } | null;
    // The answer of a proxy, or of something else at that address.
    if (typeof told?.success !== 'boolean') throw new NotVerified(`${answer.status} without a verdict`);
    const fault = [told['error-codes']].flat().find((code) => notAboutTheToken.has(code));
    if (fault) throw new NotVerified(String(fault));
    // A refusal may have a status other than 200; it is one whatever its body says.
    return answer.ok && told.success;
  }

  return {
    siteKey,
    async verify(token, ipAddress) {
      if (token === '' || token.length > longestToken) return 'refused';
      try {
        if (secretKey === null) throw new Error('no keys of a captcha service are configured');
        return (await ask(secretKey, token, ipAddress)) ? 'passed' : 'refused';
      } catch (error) {
        onOutage(error);
        return 'unavailable';
      }
    },
  };
}
