import type { FastifyReply } from 'fastify';
import type { Barred, LoginMethod } from '../../domain/organizations/barred.js';
import { pageOptions, sendPage, wantsJson } from './pages.js';
import type { Visit } from './visit.js';

/** How pages and scripts name the ways of signing in. */
export const methodNames = {
  password: 'password',
  email_otp: 'email_code',
  passkey: 'passkey',
} as const satisfies Record<LoginMethod, string>;

const descriptions = {
  'login.method_not_allowed': 'an organization of this person does not let its members sign in this way',
  sso_required: 'the organization lets its members sign in through its identity provider only',
} as const satisfies Record<Barred['code'], string>;

/** Somebody has proved who they are in a way that an organization of theirs does not take: names those that are left. */
export function sendBarred(visit: Visit, { code, methods }: Barred): FastifyReply {
  const { request, reply } = visit;
  if (wantsJson(request)) {
    return reply
      .code(403)
      .header('cache-control', 'no-store')
      .send({
        error: code,
        error_description: descriptions[code],
        methods: methods.map((method) => methodNames[method]),
      });
  }
  const ways = methods.map((method) => ({
    text: `method_refused.${methodNames[method]}` as const,
    url: urlOf(visit, method),
  }));
  const message = code === 'sso_required' ? 'sso' : ways.length > 0 ? 'others' : 'none';
  return sendPage(
    request,
    reply,
    'method-refused',
    { message: `method_refused.${message}`, ways },
    { ...pageOptions(visit), status: 403 },
  );
}

/** The sign-in from its beginning, by another way and not by a session that was begun by this one. */
function urlOf({ asked }: Visit, method: LoginMethod): string {
  const { method: _, ...parameters } = asked.parameters;
  const by: Record<string, string> = method === 'email_otp' ? { method: 'code' } : {};
  return `/oauth/authorize?${new URLSearchParams({ ...parameters, prompt: 'login', ...by })}`;
}
