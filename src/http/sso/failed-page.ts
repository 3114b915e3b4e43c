import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodsOf } from '../../domain/environments/login-methods.js';
import { wantsSso } from '../../domain/organizations/barred.js';
import type { SsoSignInRefusal } from '../../domain/sso-sign-in/end-users.js';
import { withAccountSelection } from '../oauth/account-selection.js';
import { pageOptions } from '../oauth/page-options.js';
import { offersSso, type Visit } from '../oauth/visit.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

/** Why a sign-in by an identity provider cannot continue; `stale`: not this browser's, completed, or too late. */
export type SsoFailure = SsoSignInRefusal | 'stale' | 'no_provider';

const groups = {
  away: { status: 503, codes: ['provider_unreachable'] },
  stale: { status: 400, codes: ['stale', 'state_mismatch', 'replayed'] },
  /** For an administrator: no provider is responsible for the typed address. */
  no_provider: { status: 404, codes: ['no_provider'] },
  declined: { status: 403, codes: ['provider_error', 'status_not_success'] },
  stranger: {
    status: 403,
    codes: ['identity_unknown', 'subject_mismatch', 'not_a_member', 'domain_not_verified'],
  },
  /** Another account would not help: the provider would not say more about it. */
  unsaid: { status: 403, codes: ['email_missing', 'email_unverified'] },
  inactive: { status: 403, codes: ['identity_inactive'] },
  anew: { status: 403, codes: ['reauthentication_missing'] },
  off: { status: 403, codes: ['connection_disabled'] },
  /** Nobody here has sent the person to the provider, and it is not known what they want. */
  unasked: { status: 403, codes: ['idp_initiated_disabled', 'relay_state_unknown'] },
  /** Whoever maintains the connection has something to fix. */
  refused: { status: 403, codes: [] },
} as const;
type Group = keyof typeof groups;

function groupOf(code: SsoFailure): Group {
  const found = Object.entries(groups).find(([, { codes }]) => (codes as readonly string[]).includes(code));
  return (found?.[0] ?? 'refused') as Group;
}

/** Whether the provider's answer was right, and another account there could be let in. */
const isWrongAccount = (code: SsoFailure): boolean => ['stranger', 'inactive'].includes(groupOf(code));

/** A recovery code stands in for a provider that is down, for people whom the organization lets in. */
const mayHaveCode = (code: SsoFailure): boolean =>
  !['identity_unknown', 'not_a_member', 'identity_inactive'].includes(code);

type Links = Record<'againUrl' | 'otherUrl' | 'recoveryUrl', string | null>;
const noLinks: Links = { againUrl: null, otherUrl: null, recoveryUrl: null };

/**
 * Where the person can go from here: the same way again, or another one. No way is taken automatically. If nobody here
 * knows the person, their provider would return the same account while its session lasts: so it has to ask.
 */
const linksFrom = (visit: Visit, code: SsoFailure): Links => {
  const { client, authorizeRequest, methods, organization } = visit;
  const { method: _, ...same } = authorizeRequest.parameters;
  const { login_hint: __, ...ofNobody } = same; // it may name the one who was refused
  const parameters = isWrongAccount(code) ? withAccountSelection(ofNobody) : same;
  const isOnly = organization !== null && wantsSso(organization.policy);
  const url = (more: Record<string, string>) => `/oauth/authorize?${new URLSearchParams({ ...parameters, ...more })}`;
  return {
    againUrl: url({}),
    // A person who was sent to the default connection may have another provider, which the page finds by their address.
    otherUrl: isOnly || !(methods.length > 0 || offersSso(visit)) ? null : url({ method: 'password' }),
    // Strangers must not learn whether the organization has codes.
    recoveryUrl:
      isOnly && mayHaveCode(code) && methodsOf(client.settings).length > 0 ? url({ method: 'recovery' }) : null,
  };
};

/**
 * Answers a person who could not be sent to their identity provider, or whom its answer does not let in.
 * @param requestId of the request that recorded it, if that is not this one: it leads from a report to the audit log
 */
export function sendSsoFailed(visit: Visit, code: SsoFailure, requestId?: string): FastifyReply {
  const options = { ...pageOptions(visit), formActions: [] };
  return send(visit.request, visit.reply, { code, requestId, ...linksFrom(visit, code) }, options);
}

/** Answers if it is not known what the sign-in was for. */
export const sendSsoLost = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  send(request, reply, { code: 'stale', ...noLinks }, {});

/** Answers if there is no authorization request to return to: for administrators, and for unsolicited responses. */
export const sendSsoRefused = (
  request: FastifyRequest,
  reply: FastifyReply,
  code: SsoFailure,
  links: Partial<Links> = {},
): FastifyReply => send(request, reply, { code, ...noLinks, ...links }, {});

/** Refuses a provider's own sign-out: whoever began it there may believe that they are signed out here. */
export const sendSsoLogoutRefused = (request: FastifyRequest, reply: FastifyReply, code: SsoFailure): FastifyReply =>
  send(request, reply, { code, ...noLinks }, {}, 'leaving');

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { code, requestId = request.id, ...urls }: { code: SsoFailure; requestId?: string | undefined } & Links,
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
    return reply.code(status).send(answer);
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
    { ...texts, ...urls, code: `sso.${code}`, requestId },
    { ...options, status },
  );
}
