import { OneOf } from '../schemas.js';

/** How an invite stands, whomever it asks. */
export const InviteState = OneOf(['pending', 'accepted', 'expired', 'revoked']);
