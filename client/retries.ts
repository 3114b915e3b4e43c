export interface RetryOptions {
  /** How often a request is sent again after 429, 503 or a lost connection. */
  retries?: number;
  /** The longest pause before another try; where the service asks for a longer one, its refusal is thrown at once. */
  maxPauseMs?: number;
  /** For each try, until its answer is there; of one that waits for something to tell, beside that. A file takes as long as it takes. */
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
  async function once(request: Request): Promise<Response> {
    // By a timer that holds what it ends: Node 20 collects what `AbortSignal.any` answers, and it never fires.
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new DOMException('The service did not answer in time', 'TimeoutError')),
      timeoutMs + waitAskedFor(request),
    );
    (timer as { unref?(): void }).unref?.(); // a program that has its answer need not wait for it
    request.signal.addEventListener('abort', () => limit.abort(request.signal.reason), { once: true });
    if (request.signal.aborted) limit.abort(request.signal.reason);
    try {
      const response = await fetch(request.clone(), { signal: limit.signal });
      if (!isJson(response)) clearTimeout(timer); // a file takes as long as it takes
      return response;
    } catch (error) {
      clearTimeout(timer);
      throw error;
    }
  }
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

/** Milliseconds that the service itself waits for something to tell, as the change feed does. */
const waitAskedFor = ({ url }: Request): number => 1000 * (Number(new URL(url).searchParams.get('wait')) || 0);

export const isJson = (response: Response): boolean => /[/+]json\b/.test(response.headers.get('content-type') ?? '');

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
