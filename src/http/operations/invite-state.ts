import { OneOf } from '../surfaces/schemas.js';

/** The state of an invite, of an administrator or an end user. */
export const InviteState = OneOf(['pending', 'accepted', 'expired', 'revoked']);
