import { createHash } from 'node:crypto';
import { seconds } from '../../platform/clock.js';
import { isCommon } from './common.js';

export interface BreachOptions {
  /** The k-anonymity range API, to which the first five digits of a hash are appended; null: no API is asked. */
  breachUrl: string | null;
  /** The most time for one request, answer included. */
  timeoutMs?: number;
  /** How long an unreachable API is not asked again. */
  pauseMs?: number;
  /** Called when the API did not answer; without anything about the password. */
  onOutage?: (error: Error) => void;
}

/** The range API pads its answers to some 40 KB; a longer one is not its own. */
const maxAnswerBytes = 1024 * 1024;

/**
 * Whether a password is known from a breach. Only the first 20 bits of its hash leave the process. If the API is off or
 * does not answer, the bundled list of common passwords decides.
 */
export function createBreachCheck({
  breachUrl,
  timeoutMs = seconds(1.5),
  pauseMs = seconds(30),
  onOutage = () => {},
}: BreachOptions) {
  let askAgainAt = 0;
  let failing = false;

  return async (password: string): Promise<boolean> => {
    if (breachUrl === null || performance.now() < askAgainAt) return isCommon(password);
    // While the API fails, one caller tries it and the others need not wait.
    if (failing) askAgainAt = performance.now() + pauseMs;
    try {
      const breached = await askRange(breachUrl, password, timeoutMs);
      failing = false;
      askAgainAt = 0;
      return breached;
    } catch (error) {
      failing = true;
      askAgainAt = performance.now() + pauseMs;
      onOutage(error as Error);
      return isCommon(password);
    }
  };
}

async function askRange(url: string, password: string, timeoutMs: number): Promise<boolean> {
  const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
  const { request } = await import('undici'); // 20 MB and 70 ms, only for a process that asks
  const { statusCode, body } = await request(`${url.replace(/\/?$/, '/')}${hash.slice(0, 5)}`, {
    // Padding keeps the answer's length from telling an onlooker which range was asked for.
    headers: { 'add-padding': 'true', 'user-agent': 'gatehouse' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (statusCode !== 200) {
    await body.dump();
    throw new Error(`the password range API answered ${statusCode}`);
  }
  let text = '';
  for await (const chunk of body.setEncoding('latin1')) {
    text += chunk;
    if (text.length > maxAnswerBytes) throw new Error('the password range API answered too much');
  }
  const suffix = hash.slice(5);
  // A count of 0 is padding.
  return text
    .split('\n')
    .some((line) => line.slice(0, 36).toUpperCase() === `${suffix}:` && Number(line.slice(36)) > 0);
}
