import { hours, minutes, seconds } from '../../../platform/clock.js';
import { authTimeOf, unsaid } from '../../sessions/first-factor.js';
import type { HostedSession } from '../../sessions/sessions.js';
import type { Client } from '../clients/clients.js';
import { staysOnDevice } from '../clients/redirect-uris.js';
import type { AuthorizeRequest } from './authorize-request.js';

export type Step = 'sign-in' | 'select-account' | 'continue' | 'login_required' | 'interaction_required';

export interface Situation {
  session: HostedSession | null;
  /** The subject of the request's `id_token_hint`. */
  hintedSubject: string | null;
  /** Whether the person has just chosen to continue with the session's account. */
  chosen: boolean;
  /** Whether the person always has to choose to continue with a session. */
  asksAlways: boolean;
  now: Date;
}

/**
 * Whether nothing shows which program asks: the client does not authenticate, and any other program could get the
 * response (RFC 8252 §8.6).
 */
export const couldBeAnyProgram = (
  { clientType }: Pick<Client, 'clientType'>,
  { redirectUri }: Pick<AuthorizeRequest, 'redirectUri'>,
): boolean => clientType === 'public' && staysOnDevice(redirectUri);

type Confirming = Pick<Client, 'clientType' | 'consentRequired' | 'environmentType'> & {
  settings: Pick<Client['settings'], 'ssoRequireConfirmation'>;
};

/** Whether a session alone is not enough for a client, and the person has to confirm (docs/decisions/0063). */
export function wantsConfirmation(client: Confirming, request: Pick<AuthorizeRequest, 'redirectUri'>): boolean {
  if (client.settings.ssoRequireConfirmation) return true;
  // A third-party application asks for consent instead; and in development everybody uses loopback.
  const isOwn = !client.consentRequired && client.environmentType === 'production';
  return isOwn && couldBeAnyProgram(client, request);
}

/** What an authorization request needs before it is answered (OpenID Connect Core 3.1.2.3). */
export function nextStep(
  request: AuthorizeRequest,
  { session, hintedSubject, chosen, asksAlways, now }: Situation,
): Step {
  const { prompt, maxAge } = request;
  const accepted =
    session !== null &&
    !prompt.login &&
    (hintedSubject === null || session.identityId === hintedSubject) &&
    (maxAge === null || now.getTime() < authTimeOf(session).getTime() + seconds(maxAge));
  if (!accepted) return prompt.none ? 'login_required' : 'sign-in';
  if (chosen || !(prompt.selectAccount || asksAlways)) return 'continue';
  return prompt.none ? 'interaction_required' : 'select-account';
}

/**
 * How long a sign-in counts as new while the person proves a second factor, enrolls one and reads what they are asked.
 */
const newFor = hours(1);

/**
 * A provider's response is measured from when the person was sent there (`isRecentEnough`); they have ten minutes to
 * come back.
 */
const roundTrip = minutes(11);

/** Whether a session still satisfies a request when the person has given their consent after signing in. */
export function suitsConsent(
  { prompt, maxAge }: AuthorizeRequest,
  { session, hintedSubject, now }: Pick<Situation, 'hintedSubject' | 'now'> & { session: HostedSession },
): boolean {
  if (hintedSubject !== null && session.identityId !== hintedSubject) return false;
  // If a provider sends no time, `prompt=login` accepts the time when the person came back (`isRecentEnough`).
  const login = session.authTime?.getTime() === unsaid.getTime() ? session.authenticatedAt : authTimeOf(session);
  if (prompt.login && now.getTime() >= login.getTime() + newFor) return false;
  if (maxAge === null) return true;
  const late = session.ssoSessionId === null ? 0 : roundTrip;
  return now.getTime() < authTimeOf(session).getTime() + Math.max(newFor, seconds(maxAge) + late);
}
