import { seconds } from '../../platform/clock.js';
import type { HostedSession } from '../sessions/sessions.js';
import type { AuthorizeRequest } from './authorize-request.js';

export type Step = 'sign-in' | 'select-account' | 'continue' | 'login_required';

export interface Situation {
  session: HostedSession | null;
  /** The subject of the request's `id_token_hint`. */
  hintedSubject: string | null;
  /** Whether the person has just chosen to go on with the session's account. */
  chosen: boolean;
  now: Date;
}

/** What an authorization request needs before it is answered (OpenID Connect Core 3.1.2.3). */
export function nextStep(request: AuthorizeRequest, { session, hintedSubject, chosen, now }: Situation): Step {
  const { prompt, maxAge } = request;
  const accepted =
    session !== null &&
    !prompt.login &&
    (hintedSubject === null || session.identityId === hintedSubject) &&
    (maxAge === null || now.getTime() < session.authenticatedAt.getTime() + seconds(maxAge));
  if (!accepted) return prompt.none ? 'login_required' : 'sign-in';
  return prompt.selectAccount && !chosen ? 'select-account' : 'continue';
}
