import { isOwner } from '../capabilities/owners.js';

/** SQL: whether Account `a` admits its member `m` only by a sign-in through the Account's own identity provider. */
export const isSsoOnly = (m: string, a: string): string => `(${a}.require_sso and not ${isOwner(m)})`;

/**
 * SQL: whether an Account `a` is closed to its member `m` in a session because the session began elsewhere. A session
 * that began at one of the Account's own connections for administrators ends with the connection, so its status does
 * not matter here.
 * @param connectionId SQL for the connection through which the session began, or null
 */
export const needsOwnProvider = (m: string, a: string, connectionId: string): string => `(${isSsoOnly(m, a)}
  and not exists (select from sso_connections own
    where own.id = ${connectionId} and own.account_id = ${a}.id and own.scope = 'admin'))`;
