import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Turnstile {
  url: string;
  /** The requests so far. */
  asked: { secret: string | null; response: string | null; remoteip: string | null }[];
  /**
   * Sets what it answers from now on: as Cloudflare does; an error; a text; nothing; a success with a refusal's status;
   * a redirect to another URL, which answers well; too many requests; that it does not know our key any more; or what
   * another service answers.
   */
  behave(as: 'well' | 'broken' | 'garbled' | 'silent' | 'forbidding' | 'moved' | 'busy' | 'keyless' | 'foreign'): void;
  close(): Promise<void>;
}

const moved = '/moved';

/** Starts a service with the interface of Cloudflare's `siteverify`: it accepts the token `solved` and no other. */
export async function startTurnstile(): Promise<Turnstile> {
  let behavior: Parameters<Turnstile['behave']>[0] = 'well';
  const asked: Turnstile['asked'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    asked.push({ secret: form.get('secret'), response: form.get('response'), remoteip: form.get('remoteip') });
    if (behavior === 'silent') return;
    if (behavior === 'broken') return response.writeHead(502).end('<html>');
    if (behavior === 'garbled') return response.end('null and void');
    if (behavior === 'moved' && request.url !== moved) return response.writeHead(307, { location: moved }).end();
    if (behavior === 'forbidding') response.statusCode = 403;
    if (behavior === 'busy') response.statusCode = 429;
    if (behavior === 'foreign') return response.writeHead(404).end('{"error":"not_found"}');
    const success = behavior !== 'keyless' && form.get('secret') === 'secret-key' && form.get('response') === 'solved';
    const codes = success ? [] : [behavior === 'keyless' ? 'invalid-input-secret' : 'invalid-input-response'];
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ success, 'error-codes': codes }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/siteverify`,
    asked,
    behave: (as) => {
      behavior = as;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
