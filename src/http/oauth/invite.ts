import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { nullIf } from '../../domain/errors.js';
import type { OfferedIdentityInvite, PastIdentityInvite } from '../../domain/identity-invites/acceptance.js';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import type { HostedOptions } from './options.js';
import { newPasswordErrorOf } from './password/errors.js';
import { refusalInJson } from './refusal-in-json.js';
import { isName } from './register.js';
import { pastSomeoneElse } from './someone-else.js';
import { throttled } from './throttles.js';

const action = '/oauth/invite';

/** The link of an invite. Opening it shows a form; only submitting that uses the link, so mail scanners cannot. */
export const invite: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits } = options;
  const { preview, accept, justAccepted, over } = logins.inviteAcceptance;

  app.get('/oauth/invite', async (request, reply) => {
    const token = onlyOnce(readParameters(request.query), ['token']).get('token') ?? '';
    const offered = await preview(token).catch(voided);
    return offered ? sendForm({ request, reply, offered }, { token, error: null }) : sendVoid(request, reply, token);
  });

  app.post('/oauth/invite', throttled(limits, 'POST /oauth/invite'), async (request, reply) => {
    assertOwnOrigin(request, provider.baseUrl);
    const form = onlyOnce(readParameters(request.body), ['token', 'first_name', 'last_name', 'password']);
    const token = form.get('token') ?? '';
    const offered = await preview(token).catch(voided);
    const sent = { token, password: form.get('password') || undefined };
    if (!offered) return sendDoneBefore(request, reply, sent);
    const visit = { request, reply, offered };
    const typed = { firstName: form.get('first_name')?.trim(), lastName: form.get('last_name')?.trim() };
    const names = { firstName: typed.firstName || undefined, lastName: typed.lastName || undefined };
    const again = (error: TextKey) => sendForm(visit, { token, error, ...names });
    if (!isName(typed.firstName ?? '') || !isName(typed.lastName ?? '')) return again('sign_up.error.name');
    if (offered.asksPassword && sent.password === undefined) return again('sign_up.error.password_missing');
    try {
      await accept({ ...sent, ...names });
    } catch (error) {
      const wrong = newPasswordErrorOf(error);
      if (wrong) return again(wrong);
      return voided(error) ?? sendDoneBefore(request, reply, sent);
    }
    return sendDone(options, visit);
  });

  /** Answers a link that no longer works: as the first time, if a form that was sent twice has accepted it. */
  async function sendDoneBefore(request: FastifyRequest, reply: FastifyReply, sent: Sent) {
    const offered = wantsJson(request) ? null : await justAccepted(sent.token, sent.password).catch(voided);
    return offered ? sendDone(options, { request, reply, offered }) : sendVoid(request, reply, sent.token);
  }

  async function sendVoid(request: FastifyRequest, reply: FastifyReply, token: string) {
    if (!wantsJson(request)) return sendOver(request, reply, await over(token));
    const error_description = 'the link is unknown, has expired or was used already';
    return reply.code(400).send({ error: 'invalid_request', error_description });
  }
};

interface Sent {
  token: string;
  password: string | undefined;
}

interface Visit {
  request: FastifyRequest;
  reply: FastifyReply;
  offered: OfferedIdentityInvite;
}

/** For a link that does not work. */
const voided = nullIf('invite.link_invalid');

/** In the language of the invite, unless the browser asks for one that is supported. */
const looksOf = ({ settings, locale }: Pick<OfferedIdentityInvite, 'settings' | 'locale'>) => ({
  client: { logoUrl: null, settings: { ...settings, defaultLocale: locale } },
});
const clientOf = ({ applicationName }: Pick<OfferedIdentityInvite, 'applicationName'>) => ({
  name: applicationName,
  logoUrl: null,
});

interface Asked {
  token: string;
  error: TextKey | null;
  firstName?: string | undefined;
  lastName?: string | undefined;
}

function sendForm({ request, reply, offered }: Visit, { token, error, firstName, lastName }: Asked) {
  const { email, placeName, inviter, asksNames, asksPassword, settings } = offered;
  const minLength = settings.passwordMinLength;
  if (wantsJson(request)) {
    if (error !== null)
      return reply.code(400).send({ error: 'invalid_request', ...refusalInJson(error, { length: minLength }) });
    const fields = [...(asksNames ? ['first_name', 'last_name'] : []), ...(asksPassword ? ['password'] : [])];
    return reply.send({ email, place_name: placeName, fields, password_min_length: minLength });
  }
  const values = {
    action,
    token,
    placeName,
    inviter,
    email,
    asksNames,
    asksPassword,
    minLength,
    error,
    firstName: firstName ?? offered.firstName ?? '',
    lastName: lastName ?? offered.lastName ?? '',
    client: clientOf(offered),
  };
  return sendPage(request, reply, 'identity-invite', values, looksOf(offered));
}

async function sendDone(options: HostedOptions, { request, reply, offered }: Visit) {
  if (wantsJson(request)) return reply.send({ status: 'invite_accepted', continue_to: offered.siteUrl });
  const { placeName, email, intent, siteUrl } = offered;
  const next = await pastSomeoneElse(options, request, offered, siteUrl);
  const values = { placeName, email, opensClient: intent !== 'directory', ...next, client: clientOf(offered) };
  return sendPage(request, reply, 'identity-invite-accepted', values, looksOf(offered));
}

/** A link that no longer works: if the invite existed, looks like its mail and leads on as its acceptance did. */
function sendOver(request: FastifyRequest, reply: FastifyReply, past: PastIdentityInvite | null) {
  const { isAccepted = false, siteUrl = null } = past ?? {};
  const values = { nextUrl: siteUrl, isAccepted, client: past && clientOf(past) };
  return sendPage(request, reply, 'invite-invalid', values, { ...(past && looksOf(past)), status: 400 });
}
