import type { FastifyReply, FastifyRequest } from 'fastify';

/** What a browser stores of an admin's session (contract §2, "Cookies"). */
export interface AdminCookies {
  set(reply: FastifyReply, session: { refreshToken: string; refreshExpiresIn: number }): void;
  clear(reply: FastifyReply): void;
  /** The refresh token; null if there is none. */
  read(request: FastifyRequest): string | null;
  /**
   * Whether an administrator is signed in, as far as a request from another site shows, with which the refresh token is
   * not sent.
   */
  isMarked(request: FastifyRequest): boolean;
  /** The refresh token in `set-cookie` lines of ours. */
  readSet(lines: string[]): string | null;
}

/** Returns the cookies of administrators, for https with the prefix `__Host-`. */
export function createAdminCookies(baseUrl: string): AdminCookies {
  const secure = baseUrl.startsWith('https:');
  const prefix = secure ? '__Host-' : ''; // which requires Secure, the path / and no domain
  const refresh = { name: `${prefix}admin_refresh`, attributes: { httpOnly: true, sameSite: 'strict' } } as const;
  // Tells the Portal's scripts that it is worth requesting a token. It proves nothing.
  const marker = { name: `${prefix}admin_session`, attributes: { sameSite: 'lax' } } as const;
  const common = { path: '/', secure };
  return {
    set(reply, { refreshToken, refreshExpiresIn: maxAge }) {
      reply.setCookie(refresh.name, refreshToken, { ...common, ...refresh.attributes, maxAge });
      reply.setCookie(marker.name, '1', { ...common, ...marker.attributes, maxAge });
    },
    clear(reply) {
      for (const { name, attributes } of [refresh, marker]) reply.clearCookie(name, { ...common, ...attributes });
    },
    readSet: (lines) => {
      const line = lines.find((one) => one.startsWith(`${refresh.name}=`));
      return line?.slice(refresh.name.length + 1).split(';', 1)[0] || null;
    },
    read: (request) => request.cookies[refresh.name] || null,
    isMarked: (request) => request.cookies[marker.name] !== undefined,
  };
}
