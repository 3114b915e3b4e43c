import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/**
 * A receiver in its own process, as in `docs/webhooks.md`: the public library verifies each message, and the result is
 * a line of output. The first call of each message gets no answer until the test asks for one.
 */
const webhook = new Webhook(process.env.WEBHOOK_SECRET as string);
const seen = new Set<string>();
const held: (() => void)[] = [];
const tell = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

const server = createServer(async (request, response) => {
  if (request.url === '/answer') {
    for (const answer of held.splice(0)) answer();
    return response.end();
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const id = request.headers['webhook-id'] as string;
  let type: unknown = null;
  try {
    type = (webhook.verify(body, request.headers as Record<string, string>) as { type: string }).type;
  } catch {
    // `type` stays null
  }
  tell({ id, body, type });
  const answer = () => response.writeHead(type === null ? 400 : 204).end();
  if (seen.has(id)) return answer();
  seen.add(id);
  held.push(answer);
});
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }));
