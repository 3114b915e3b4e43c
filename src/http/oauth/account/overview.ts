import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { accountPageLimit } from '../../../domain/account-page-limit.js';
import { fullNameOf } from '../../../domain/full-name.js';
import { destinationOf, siteOf } from '../../../domain/oidc/clients/redirect-uris.js';
import { learntBy } from '../../../domain/oidc/scopes.js';
import type { OwnApplication } from '../../../domain/sessions/own-applications.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import { type TextKey, textKeys } from '../../../platform/mail/texts.js';
import { wantsJson } from '../../pages/wants-json.js';
import { deviceName } from './device-name.js';
import { shownFactor } from './factor-name.js';
import { addableBy } from './factors/addable.js';
import type { AccountOptions } from './options.js';
import { inJson, type ShownOverview } from './overview-json.js';
import { sendAccountPage } from './page.js';
import { type AccountVisit, showKeyUrl } from './visit.js';

/** Everything in a person's account, with what they can do about it. */
export const overview: FastifyPluginAsyncTypebox<AccountOptions> = async (
  app,
  { provider, logins, hosted, visits },
) => {
  const isThis = (request: FastifyRequest, deviceHash: Buffer) => {
    const device = hosted.cookies.device.read(request);
    return device !== null && hashSecret(device).equals(deviceHash);
  };

  app.get('/oauth/account', async (request, reply) => {
    const visit = await visits.open(request, reply, 'account');
    if (!visit) return reply;
    const found = await read(visit);
    if (wantsJson(request)) return reply.send(inJson(found));
    const siteUrl = siteOf(visit.client.redirectUris);
    return sendAccountPage(visit, 'account', { ...found, now: provider.now(), done: doneOf(visit), siteUrl });
  });

  async function read(visit: AccountVisit): Promise<ShownOverview> {
    const { request, scope, session, client } = visit;
    const { identityId } = session;
    const { settings } = client;
    const isBound = await visits.isBound({ session, scope }, 'factors');
    const [profile, changesEmail, factors, { remaining }, [devices, trusted], sessions, applications] =
      await Promise.all([
        logins.ownProfile(scope, identityId),
        logins.ownEmail.isAllowed(scope, session),
        logins.factors.list(scope, identityId),
        logins.recoveryCodes.remaining(scope, identityId),
        logins.trustedDevices.list(scope, identityId),
        logins.ownSessions.list(scope, identityId),
        logins.ownApplications.list(scope, identityId, accountPageLimit),
      ]);
    const adding = isBound ? { addable: [], cameByMail: false } : addableBy({ session, client }, factors, profile);
    return {
      person: { name: fullNameOf(profile), email: profile.email },
      changesEmail: changesEmail && !isBound,
      password: settings.passwordLoginEnabled
        ? { isSet: profile.hasPassword, changedAt: profile.passwordChangedAt }
        : null,
      factors: factors.map(shownFactor),
      takesPasskeys: settings.passkeyLoginEnabled,
      showKeyUrl: isBound || !settings.mfaAllowedFactors.includes('webauthn') ? null : showKeyUrl(visit),
      ...adding,
      isBound,
      recoveryCodesLeft: factors.length > 0 && settings.mfaAllowedFactors.includes('recovery_code') ? remaining : null,
      sessions: sessions.map(({ userAgent, ...one }) => ({
        ...one,
        device: deviceName(userAgent),
        isCurrent: one.id === session.id,
      })),
      devices: devices.map(({ id, userAgent, createdAt, expiresAt, deviceHash }) => ({
        id,
        device: deviceName(userAgent),
        isCurrent: isThis(request, deviceHash),
        createdAt,
        expiresAt,
      })),
      devicesNotShown: trusted - devices.length,
      applications: applications.map((one) => ({
        ...one,
        mark: markOf(one, applications),
        scopes: one.scopes && learntBy(one.scopes),
      })),
      applicationsNotShown: (applications[0]?.total ?? 0) - applications.length,
    };
  }
};

/**
 * Returns what distinguishes an application from others of its name: its destination, or else its `client_id`. Null if
 * no other one has its name.
 */
function markOf(application: OwnApplication, all: readonly OwnApplication[]): string | null {
  const placeOf = ({ clientId, redirectUris: [first] }: OwnApplication) => (first ? destinationOf(first) : clientId);
  const alike = all.filter(({ id, name }) => id !== application.id && name === application.name);
  if (alike.length === 0) return null;
  const place = placeOf(application);
  return alike.some((other) => placeOf(other) === place) ? application.clientId : place;
}

/**
 * This message does not claim that something was done. A reload can show it, for which browsers other than Chromium do
 * not send `same-origin`.
 */
const harmless = 'codes_shown';

/** The message about what was just done, from the redirect after its form; a link from elsewhere must not claim it. */
function doneOf({ request, form }: AccountVisit): TextKey | null {
  const site = request.headers['sec-fetch-site'];
  const isReload = site === 'none' && form.get('done') === harmless;
  if (site !== undefined && site !== 'same-origin' && !isReload) return null;
  const key = `account.done.${form.get('done')}` as TextKey;
  return textKeys('en').includes(key) ? key : null;
}
