import type { FastifyInstance } from 'fastify';

const withPort = /^(?:\[([0-9a-f:.]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/i;

/** The addresses of an `X-Forwarded-For`, without ports and brackets. */
const withoutPorts = (header: string): string =>
  header
    .split(',')
    .map((one) => one.trim().replace(withPort, '$1$2'))
    .join(', ');

/**
 * Some gateways write the client's port behind its address. As another address with each connection it would be under no limit, and as
 * that of a proxy it would not be trusted. Comes before whatever asks for `request.ip`.
 */
export function readForwardedAddresses(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const header = raw.headers['x-forwarded-for'];
    if (typeof header === 'string') raw.headers['x-forwarded-for'] = withoutPorts(header);
  });
}
