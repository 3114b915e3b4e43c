import type { FastifyRequest } from 'fastify';

/** Whether the caller is a script that wants JSON instead of the page for a browser (docs/decisions/0006). */
export const wantsJson = ({ headers: { accept = '' } }: FastifyRequest): boolean =>
  /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept);
