import { v4 as uuidv4 } from 'uuid';
import { type Clock, epochSeconds } from '../../../platform/clock.js';
import type { SignLogoutToken } from '../../logout-tokens/message.js';
import type { SigningKeys } from '../keys.js';

const event = 'http://schemas.openid.net/event/backchannel-logout';

/** At most two minutes are recommended (§4), so that a token that somebody has copied is soon worthless. */
const lifeSeconds = 120;

/**
 * Signs logout tokens (OpenID Connect Back-Channel Logout 1.0 §2.4) with the key that signs ID tokens now. Their type
 * keeps them from being taken for an ID token, and the other way round (§4.1).
 */
export const createLogoutTokens =
  ({ keys, now }: { keys: Pick<SigningKeys, 'sign'>; now: Clock }): SignLogoutToken =>
  ({ clientId, ...named }) => {
    const iat = epochSeconds(now());
    const claims = { aud: clientId, ...named, iat, exp: iat + lifeSeconds, jti: uuidv4(), events: { [event]: {} } };
    return keys.sign(claims, { typ: 'logout+jwt' });
  };
