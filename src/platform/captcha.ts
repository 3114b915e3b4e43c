import { seconds } from './clock.js';

/** `unavailable`: the captcha service gave no verdict, which is not the fault of the person who solved the captcha. */
export type CaptchaVerdict = 'passed' | 'refused' | 'unavailable';

export interface Captcha {
  /** The key for the page's widget; null when no keys are configured. */
  siteKey: string | null;
  /**
   * Verifies the token of a solved captcha. An empty token is refused without a request; without configured keys, or
   * without an answer in time, nobody passes.
   */
  verify(token: string, ipAddress: string): Promise<CaptchaVerdict>;
}

export interface CaptchaOptions {
  siteKey: string | null;
  secretKey: string | null;
  /**
   * Where tokens are verified: Cloudflare, or a service with the same API. The operator chooses the URL, so it may have
   * a private address.
   */
  verifyUrl: string;
  /** Called when the service gives no verdict; nobody passes then. */
  onOutage?: (error: unknown) => void;
}

const timeLimit = seconds(5);
/** Cloudflare's maximum length of a token. */
const maxTokenLength = 2048;

/** Cloudflare's error codes for our key or for its own faults: the person who solved the captcha did nothing wrong. */
const notAboutTheToken = new Set<unknown>(['missing-input-secret', 'invalid-input-secret', 'internal-error']);

/** The service answered without checking the token. `code` is for the log. */
class NotVerified extends Error {
  override name = 'NotVerified';
  constructor(readonly code: string) {
    super(`the captcha service answers ${code}`);
  }
}

/** Cloudflare Turnstile (contract §3). It fails closed: a token that was not verified is refused. */
export function createCaptcha({ siteKey, secretKey, verifyUrl, onOutage = () => {} }: CaptchaOptions): Captcha {
  async function ask(secret: string, token: string, ipAddress: string): Promise<boolean> {
    const answer = await fetch(verifyUrl, {
      method: 'POST',
      body: new URLSearchParams({ secret, response: token, remoteip: ipAddress }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimit),
    });
    if (answer.status === 429 || answer.status >= 500) throw new NotVerified(String(answer.status));
    const verdict = (await answer.json()) as { success?: unknown; 'error-codes'?: unknown } | null;
    // The answer comes from a proxy, or from another service at that address.
    if (typeof verdict?.success !== 'boolean') throw new NotVerified(`${answer.status} without a verdict`);
    const fault = [verdict['error-codes']].flat().find((code) => notAboutTheToken.has(code));
    if (fault) throw new NotVerified(String(fault));
    // Any other status outside 2xx is a refusal, whatever the body says.
    return answer.ok && verdict.success;
  }

  return {
    siteKey,
    async verify(token, ipAddress) {
      if (token === '' || token.length > maxTokenLength) return 'refused';
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
