import type { FastifyReply, FastifyRequest } from 'fastify';

/** The `hosted_session` cookie (contract §2): a secret that names the browser. Over https it is bound to this host. */
export function browserCookie(baseUrl: string) {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? '__Host-hosted_session' : 'hosted_session';
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  return {
    read: (request: FastifyRequest): string | null => {
      const value = request.cookies[name];
      return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null;
    },
    set: (reply: FastifyReply, value: string, expiresAt: Date, now: Date) =>
      reply.setCookie(name, value, {
        ...attributes,
        maxAge: Math.max(0, Math.ceil((expiresAt.getTime() - now.getTime()) / 1000)),
      }),
    clear: (reply: FastifyReply) => reply.clearCookie(name, attributes),
  };
}
