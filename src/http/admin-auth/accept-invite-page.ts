import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InviteAcceptance, OfferedInvite } from '../../domain/administrator-invites/acceptance.js';
import { type DomainError, nullIf } from '../../domain/errors.js';
import { adminAppOf } from '../../platform/admin-app.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { httpStatusOf } from '../error-statuses.js';
import { refusalOf } from '../errors.js';
import { browserLocaleOf } from '../pages/locale.js';
import { passwordErrorOf } from '../pages/password-errors.js';
import type { AdminPages } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { sendAdminPage, wantsPage } from './pages.js';

interface Shown {
  token: string;
  invite: OfferedInvite;
  error: TextKey | null;
}

/** Sends the form of an invite, with what was typed before if there was something wrong with it. */
export function sendInvitePage(request: FastifyRequest, reply: FastifyReply, { token, invite, error }: Shown) {
  const { accountName, email, asksNames, asksPassword, ssoAvailable: passwordOptional, locale } = invite;
  const typed = (request.body ?? {}) as Record<string, unknown>;
  const names = {
    firstName: textOf(typed.first_name) ?? invite.firstName,
    lastName: textOf(typed.last_name) ?? invite.lastName,
  };
  const action = request.url.split('?', 1)[0] as string;
  const values = { action, token, accountName, email, ...names, asksNames, asksPassword, passwordOptional, error };
  return sendAdminPage(reply, 'accept-invite', values, browserLocaleOf(request, locale));
}

interface Known {
  invites: Pick<InviteAcceptance, 'preview' | 'justAccepted'>;
  pages: AdminPages;
}

/** Answers an error in the format of the request. The form itself says what a person can correct. */
export const acceptInviteError =
  (invites: Known['invites'], pages: AdminPages) =>
  async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const refusal = refusalOf(error);
    const send = sendPageOrError(pages);
    if (!wantsPage(request) || !refusal || httpStatusOf(refusal.code) !== 400) return send(error, request, reply);
    // An outage meanwhile says nothing about the link.
    return sendRefused({ invites, pages }, refusal, request, reply).catch((failure) => send(failure, request, reply));
  };

async function sendRefused(
  { invites, pages }: Known,
  refusal: DomainError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const nextUrl = adminAppOf(pages);
  const token = textOf((request.body as Record<string, unknown> | null)?.token);
  const wrong = token && wrongWith(refusal);
  const invite = wrong ? await invites.preview(token).catch(nullIf('invite.link_invalid')) : null;
  // The same form, sent twice, may have accepted the invite.
  const isVoid = token && request.method === 'POST' && refusal.code === 'invite.link_invalid';
  const done = isVoid ? await invites.justAccepted(token) : null;
  if (done) return sendAdminPage(reply.code(200), 'invite-accepted', { ...done, nextUrl }, browserLocaleOf(request));
  reply.code(400);
  if (!wrong || !invite)
    return sendAdminPage(
      reply,
      'invite-invalid',
      { nextUrl, isAccepted: false, client: null },
      browserLocaleOf(request),
    );
  return sendInvitePage(request, reply, { token, invite, error: wrong });
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const passwordErrors = { 'password.required': 'accept_invite.error.password_missing' } as const;

const wrongWith = (refusal: DomainError): TextKey | null =>
  passwordErrorOf(refusal, passwordErrors) ??
  (refusal.code === 'validation.failed' ? 'accept_invite.error.incomplete' : null);
