import type { FastifyInstance } from 'fastify';

const withPort = /^(?:\[([0-9a-f:.]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/i;

/** Returns the addresses of an `X-Forwarded-For`, without ports and brackets. */
const withoutPorts = (header: string): string =>
  header
    .split(',')
    .map((one) => one.trim().replace(withPort, '$1$2'))
    .join(', ');

/**
 * Removes the ports that some gateways append to addresses. With a port, each connection would count as another
 * address, under no limit, and a proxy's address would not be trusted. To be registered before anything reads
 * `request.ip`.
 */
export function readForwardedAddresses(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const header = raw.headers['x-forwarded-for'];
    if (typeof header === 'string') raw.headers['x-forwarded-for'] = withoutPorts(header);
  });
}
