import type { FastifyRequest } from 'fastify';

/** What a session remembers of the browser that it was started in. */
export const browserOf = ({ ip, headers }: FastifyRequest) => ({
  ipAddress: ip,
  userAgent: headers['user-agent'] ?? null,
});
