import { seconds } from './clock.js';

export interface Captcha {
  /** What the page's widget is shown with; null when no keys are configured. */
  siteKey: string | null;
  /** Whether a person solved it. False for an empty token, without keys, and when the service does not say so in time. */
  verify(token: string, ipAddress: string): Promise<boolean>;
}

export interface CaptchaOptions {
  siteKey: string | null;
  secretKey: string | null;
  /** Where tokens are verified: Cloudflare's, or one that speaks alike. It is the operator's, so it may be private. */
  verifyUrl: string;
  /** Told when the service cannot be asked; without its answer nobody passes. */
  onOutage?: (error: unknown) => void;
}

const timeLimit = seconds(5);
/** Cloudflare's own limit of a token. */
const longestToken = 2048;

/** Cloudflare Turnstile (contract §3). It fails closed: what was not verified is refused. */
export function createCaptcha({ siteKey, secretKey, verifyUrl, onOutage = () => {} }: CaptchaOptions): Captcha {
  async function ask(secret: string, token: string, ipAddress: string): Promise<boolean> {
    const answer = await fetch(verifyUrl, {
      method: 'POST',
      body: new URLSearchParams({ secret, response: token, remoteip: ipAddress }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimit),
    });
    if (answer.status >= 500) throw new Error(`the captcha service answers ${answer.status}`);
    // A refusal may come with another status than 200, and it is one whatever its body says.
    return answer.ok && ((await answer.json()) as { success?: unknown } | null)?.success === true;
  }

  return {
    siteKey,
    async verify(token, ipAddress) {
      if (token === '' || token.length > longestToken) return false;
      try {
        if (secretKey === null) throw new Error('no keys of a captcha service are configured');
        return await ask(secretKey, token, ipAddress);
      } catch (error) {
        onOutage(error);
        return false;
      }
    },
  };
}
