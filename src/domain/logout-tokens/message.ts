import type { OutboundPost } from '../../platform/outbound/post.js';

/** What a logout token says, and to which client. */
export interface Logout {
  /** The client's `client_id`, the token's audience. */
  clientId: string;
  /** The person, as `sub` of the client's ID tokens; not for a client that goes by the session alone. */
  sub?: string;
  /** The session, as `sid` of the client's ID tokens. */
  sid: string;
}

/** The client of a delivery. */
export interface LogoutReceiver {
  clientId: string;
  /** Its `backchannel_logout_session_required`. */
  needsSession: boolean;
}

/** Returns a signed logout token that is valid for minutes. */
export type SignLogoutToken = (logout: Logout) => Promise<string>;

/**
 * Returns the request that carries a logout token (OpenID Connect Back-Channel Logout 1.0 §2.5). The token is signed at
 * each attempt: one that waited for hours would have expired, and a client may refuse a `jti` that it has seen. A token
 * with `sid` alone ends that session; some libraries end all of the person's sessions if it has `sub` as well.
 * @param body the delivery's
 */
export async function logoutMessage(
  sign: SignLogoutToken,
  { clientId, needsSession }: LogoutReceiver,
  body: string,
): Promise<OutboundPost> {
  const { sub, sid } = JSON.parse(body) as { sub: string; sid: string };
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'gatehouse-logout' },
    body: `logout_token=${await sign({ clientId, sid, ...(!needsSession && { sub }) })}`,
  };
}

/**
 * After how many refusals in a row a logout token is not sent again. A client answers 400 where it does not accept the
 * token, and also where it did but its own logout failed (§2.8), which may go better a few minutes later.
 */
export const maxRefusals = 3;
