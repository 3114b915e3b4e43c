import type { FastifyRequest } from 'fastify';

/** Returns what a session stores about the browser in which it began. */
export const browserOf = ({ ip, headers }: FastifyRequest) => ({
  ipAddress: ip,
  userAgent: headers['user-agent'] ?? null,
});
