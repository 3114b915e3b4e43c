import type { FastifyReply } from 'fastify';
import { type LoginMethod, methodsOf } from '../../domain/environments/login-methods.js';
import type { Barred } from '../../domain/organizations/barred.js';
import type { OfferedConnection } from '../../domain/organizations/sign-in-policy.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { pageOptions } from './page-options.js';
import { anotherPersonUrl, type Visit } from './visit.js';

/** How pages and scripts name the sign-in methods. */
export const methodNames = {
  password: 'password',
  email_otp: 'email_code',
  passkey: 'passkey',
} as const satisfies Record<LoginMethod, string>;

const descriptions = {
  'login.method_not_allowed': 'an organization of this person does not let its members sign in this way',
  sso_required: 'the organization lets its members sign in through its identity provider only',
} as const satisfies Record<Barred['code'], string>;

export interface Shown {
  /** False if nobody has proved anything yet, and the organization of the sign-in leaves no method at all. */
  isKnown?: boolean;
  /** Whether an existing session led here: it would do so again, whoever sits there. */
  isResumed?: boolean;
  /** The token with which the person can continue by a recovery code, and whether a wrong code was typed. */
  recovery?: { token: string; isWrong: boolean } | null;
}

/** Says that an organization does not accept the way of a sign-in, and lists the ways that are left. */
export function sendBarred(
  visit: Visit,
  { code, methods, connections }: Barred,
  { isKnown = true, isResumed = false, recovery = null }: Shown = {},
): FastifyReply {
  const { request, reply } = visit;
  const providers = code === 'sso_required' ? providersOf(visit, connections) : [];
  if (wantsJson(request)) {
    return reply.code(403).send({
      error: code,
      error_description: recovery?.isWrong ? 'the recovery code is wrong, or was used' : descriptions[code],
      methods: methods.map((method) => methodNames[method]),
      ...(code === 'sso_required' && { sso_connections: providers }),
      ...(recovery && { sso_recovery_token: recovery.token }),
    });
  }
  const ways = [
    ...methods.map((method) => ({
      text: `method_refused.${methodNames[method]}` as const,
      values: {},
      url: otherMethodUrl(visit, method === 'email_otp' ? 'code' : 'password'),
    })),
    ...providers.map(({ name, url }) => ({
      text: name === null ? ('method_refused.by_provider' as const) : ('method_refused.by_provider_of' as const),
      values: { organization: name ?? '' },
      url,
    })),
  ];
  const message = messageOf(code, ways.length > 0, isKnown);
  return sendPage(
    request,
    reply,
    'method-refused',
    {
      title: ways.length > 0 ? 'method_refused.title' : 'method_refused.title_none',
      message: `method_refused.${message}`,
      ways,
      recovery,
      recoveryUrl: code === 'sso_required' && !recovery ? recoveryUrlOf(visit) : null,
      otherUrl: isResumed && ways.length === 0 ? anotherPersonUrl(visit) : null,
      params: visit.authorizeRequest.parameters,
    },
    { ...pageOptions(visit), status: 403 },
  );
}

function messageOf(code: Barred['code'], areOthers: boolean, isKnown: boolean) {
  if (code === 'sso_required') return areOthers ? 'sso' : 'sso_none';
  if (areOthers) return 'others';
  return isKnown ? 'none' : 'closed';
}

/** The sign-in from its beginning, by another method, without the session that this one began. */
function otherMethodUrl({ authorizeRequest }: Visit, method: 'code' | 'password' | 'recovery'): string {
  return `/oauth/authorize?${new URLSearchParams({ ...authorizeRequest.parameters, prompt: 'login', method })}`;
}

/**
 * Where a recovery code can be used by somebody who has come by a session, or has proved nothing yet: they prove who
 * they are first. Null if no method exists for that.
 */
export const recoveryUrlOf = (visit: Visit): string | null =>
  methodsOf(visit.client.settings).length > 0 ? otherMethodUrl(visit, 'recovery') : null;

/** Where the sign-in begins at each identity provider that is required. */
function providersOf({ authorizeRequest }: Visit, connections: readonly OfferedConnection[]) {
  const { method: _, ...parameters } = authorizeRequest.parameters;
  return connections.map(({ id, name }) => ({
    id,
    name,
    url: `/oauth/sso?${new URLSearchParams({ ...parameters, connection_id: id })}`,
  }));
}
