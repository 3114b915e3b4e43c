import { Type } from 'typebox';
import type { Caller } from '../../domain/caller.js';
import { type Reach, reachOf } from '../../domain/capabilities/reach.js';
import { covers, type Place } from '../../domain/capabilities/role-limits.js';
import { OneOf } from '../surfaces/schemas.js';
import { adminCallerOf } from './admin-caller.js';

/** What an administrator may do with a part of the Account that the answer shows (contract §6). */
export const AccessFields = {
  access_state: OneOf(['accessible', 'path_only'], {
    description:
      '`path_only`: included because it leads to a part that the roles reach; nothing else in it can be read.',
  }),
  can_access: Type.Boolean(),
};

/** Returns where the caller may view applications and environments. */
export const viewedBy = (caller: Caller): Reach => reachOf(adminCallerOf(caller).roles, 'applications.view');

/** Returns the fields that say whether the caller may enter a place, or only sees it on the way to another one. */
export function accessFieldsOf(reach: Reach, place: Place) {
  const canAccess = covers(reach, place);
  return { access_state: canAccess ? ('accessible' as const) : ('path_only' as const), can_access: canAccess };
}
