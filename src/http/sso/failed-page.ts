import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodsOf } from '../../domain/environments/login-methods.js';
import { wantsSso } from '../../domain/organizations/barred.js';
import type { SsoSignInRefusal } from '../../domain/sso-sign-in/end-users.js';
import { askingWho } from '../oauth/asking-who.js';
import { pageOptions } from '../oauth/page-options.js';
import { offersSso, type Visit } from '../oauth/visit.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

/** Why a sign-in by an identity provider does not go on; `stale`: it is not this browser's, was completed, or took too long. */
export type SsoFailure = SsoSignInRefusal | 'stale' | 'no_provider';

const groups = {
  away: { status: 503, codes: ['provider_unreachable'] },
  stale: { status: 400, codes: ['stale', 'state_mismatch', 'replayed'] },
  /** Of an administrator: nobody is responsible for the address that was typed. */
  no_provider: { status: 404, codes: ['no_provider'] },
  declined: { status: 403, codes: ['provider_error', 'status_not_success'] },
  stranger: {
    status: 403,
    codes: ['identity_unknown', 'subject_mismatch', 'not_a_member', 'domain_not_verified'],
  },
  /** No other account there would be told of any better. */
  unsaid: { status: 403, codes: ['email_missing', 'email_unverified'] },
  inactive: { status: 403, codes: ['identity_inactive'] },
  anew: { status: 403, codes: ['reauthentication_missing'] },
  off: { status: 403, codes: ['connection_disabled'] },
  /** Nobody here has sent the person to the provider, and it cannot be known what they want. */
  unasked: { status: 403, codes: ['idp_initiated_disabled', 'relay_state_unknown'] },
  /** Whoever looks after the connection has something to mend. */
  refused: { status: 403, codes: [] },
} as const;
type Group = keyof typeof groups;

function groupOf(code: SsoFailure): Group {
  const found = Object.entries(groups).find(([, { codes }]) => (codes as readonly string[]).includes(code));
  return (found?.[0] ?? 'refused') as Group;
}

/** Whether what the provider answered was right, and another account there could be let in. */
const isWrongAccount = (code: SsoFailure): boolean => ['stranger', 'inactive'].includes(groupOf(code));

/** A recovery code stands for a provider that is down, and is of somebody whom the organization lets in. */
const mayHaveCode = (code: SsoFailure): boolean =>
  !['identity_unknown', 'not_a_member', 'identity_inactive'].includes(code);

type Ways = Record<'againUrl' | 'otherUrl' | 'recoveryUrl', string | null>;
const nowhere: Ways = { againUrl: null, otherUrl: null, recoveryUrl: null };

/**
 * Where the person can go from here: once more, or another way. None leads anywhere by itself. Whom nobody knows here would be answered
 * with by their provider for as long as it has a session of theirs: it has to ask.
 */
const waysFrom = (visit: Visit, code: SsoFailure): Ways => {
  const { client, asked, methods, organization } = visit;
  const { method: _, ...same } = asked.parameters;
  const { login_hint: __, ...ofNobody } = same; // it may name the one who was refused
  const parameters = isWrongAccount(code) ? askingWho(ofNobody) : same;
  const isOnly = organization !== null && wantsSso(organization.policy);
  const url = (more: Record<string, string>) => `/oauth/authorize?${new URLSearchParams({ ...parameters, ...more })}`;
  return {
    againUrl: url({}),
    // Who was sent to the default connection may have another provider, whom the page finds by their address.
    otherUrl: isOnly || !(methods.length > 0 || offersSso(visit)) ? null : url({ method: 'password' }),
    // Whether the organization has codes is nothing that strangers are told.
    recoveryUrl:
      isOnly && mayHaveCode(code) && methodsOf(client.settings).length > 0 ? url({ method: 'recovery' }) : null,
  };
};

/** Somebody could not be sent to their identity provider, or what it answered lets them in nowhere. */
export function sendSsoFailed(visit: Visit, code: SsoFailure): FastifyReply {
  const options = { ...pageOptions(visit), formActions: [] };
  return send(visit.request, visit.reply, { code, ...waysFrom(visit, code) }, options);
}

/** The same where nobody knows what the sign-in was for. */
export const sendSsoLost = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  send(request, reply, { code: 'stale', ...nowhere }, {});

/** The same for whoever has no authorization request to go back to: administrators, and answers that nobody asked for. */
export const sendSsoRefused = (
  request: FastifyRequest,
  reply: FastifyReply,
  code: SsoFailure,
  ways: Partial<Ways> = {},
): FastifyReply => send(request, reply, { code, ...nowhere, ...ways }, {});

/** A provider's own sign-out is not taken: whoever began it there may take themselves for signed out here. */
export const sendSsoLogoutRefused = (request: FastifyRequest, reply: FastifyReply, code: SsoFailure): FastifyReply =>
  send(request, reply, { code, ...nowhere }, {}, 'leaving');

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { code, ...urls }: { code: SsoFailure } & Ways,
  options: Parameters<typeof sendPage>[4],
  words: Group | 'leaving' = groupOf(code),
): FastifyReply {
  const { status } = groups[groupOf(code)];
  if (status === 503) reply.header('retry-after', '30');
  if (wantsJson(request)) {
    const what = words === 'leaving' ? 'sign-out' : 'sign-in';
    const answer = {
      error: `sso.${code}`,
      error_description: `the ${what} through the identity provider cannot continue`,
    };
    return reply.code(status).header('cache-control', 'no-store').send(answer);
  }
  const texts = {
    title: `sso_failed.${words}.title`,
    message: `sso_failed.${words}.message`,
    againText: isWrongAccount(code) ? 'sso_failed.another' : 'sso_failed.again',
  } as const;
  return sendPage(
    request,
    reply,
    'sso-failed',
    { ...texts, ...urls, code: `sso.${code}`, requestId: request.id },
    { ...options, status },
  );
}
