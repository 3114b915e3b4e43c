import type { FastifyReply, FastifyRequest } from 'fastify';

export type SecretCookie = ReturnType<typeof secretCookie>;

/** A cookie of 256 random bits that identifies the browser (contract §2). Over https it is bound to this host. */
export function secretCookie(
  baseUrl: string,
  plainName:
    | 'hosted_session'
    | 'trusted_device'
    | 'recovery_codes'
    | 'sign_up'
    | 'sso'
    | 'admin_registration'
    | 'admin_email_change',
) {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? `__Host-${plainName}` : plainName;
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
