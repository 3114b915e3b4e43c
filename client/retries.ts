export interface RetryOptions {
  /** How often a request is sent again after 429, 503 or a lost connection. */
  retries?: number;
  /** The longest pause before another try; where the service asks for a longer one, its refusal is thrown at once. */
  maxPauseMs?: number;
  /** For each try. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** A `fetch` that tries again what was refused for the moment, or whose answer was lost. Its writes carry an Idempotency-Key. */
export function retrying({
  retries = 3,
  maxPauseMs = 30_000,
  timeoutMs = 30_000,
  fetch = globalThis.fetch,
}: RetryOptions) {
  const once = (request: Request) =>
    fetch(request.clone(), { signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]) });
  return async (request: Request): Promise<Response> => {
    for (let tried = 0; ; tried += 1) {
      const isLast = tried >= retries;
      const response = await once(request).catch((error: unknown) => {
        if (isLast || request.signal.aborted) throw error;
        return null;
      });
      const pause = pauseOf(response, tried);
      if (response && (isLast || pause > maxPauseMs || !(await isForTheMoment(response, tried)))) return response;
      await response?.body?.cancel();
      await wait(Math.min(pause, maxPauseMs), request.signal);
    }
  };
}

/** Also when the first try, whose answer was lost, is still at work. */
async function isForTheMoment(response: Response, tried: number): Promise<boolean> {
  if (response.status === 429 || response.status === 503) return true;
  if (response.status !== 409 || tried === 0) return false;
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { error?: { code?: string } } | null;
  return body?.error?.code === 'idempotency.in_progress';
}

/** What the service asks for (RFC 9110 §10.2.3), else twice as long each time, and not all clients at once. */
function pauseOf(response: Response | null, tried: number): number {
  const asked = response?.headers.get('retry-after');
  if (!asked) return 200 * 2 ** tried * (0.5 + Math.random() / 2);
  const ms = /^\d+$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - Date.now();
  return Number.isNaN(ms) ? 1000 : Math.max(ms, 0);
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
