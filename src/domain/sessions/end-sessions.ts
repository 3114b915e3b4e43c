import type { EntityManager } from 'typeorm';
import type { Actor } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvents } from '../events/record.js';
import { inParts, newest } from './sessions-in-events.js';
import { recordSignedOut } from './signed-out.js';

interface Ending {
  /** Ends this session alone. */
  only?: string;
  /** Ends all sessions but this one. */
  keep?: string;
  reason: string;
  at: Date;
  /** The actor; by default the person. */
  by?: Actor;
}

/** Unfinished sign-ins would become sessions; those that are to make a session stronger end with it. */
const endUnfinished = `
update pending_sign_ins set completed_at = $4
where account_id = $1 and environment_id = $2 and identity_id = $3 and completed_at is null and method <> 'session'`;

/**
 * Ends sessions of an Identity with their grants, and so every token: in the caller's transaction, in the Environment
 * of `scope`. Unless a single one is named, sign-ins that wait for a second factor end as well.
 * @returns the ids of the sessions that ended
 */
export async function endSessions(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { only, keep, reason, at, by }: Ending,
): Promise<string[]> {
  const { accountId, environmentId } = scope;
  const [rows] = await tx.query<[{ id: string }[], number]>(
    `update sessions set revoked_at = $4
     where account_id = $1 and environment_id = $2 and identity_id = $3 and revoked_at is null
       and ($5::uuid is null or id = $5) and ($6::uuid is null or id <> $6)
     returning id`,
    [accountId, environmentId, identityId, at, only ?? null, keep ?? null],
  );
  if (only === undefined) await tx.query(endUnfinished, [accountId, environmentId, identityId, at]);
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return ids;
  await tx.query(
    `update grants set revoked_at = $3, revoked_reason = $4
     where account_id = $1 and session_id = any($2) and revoked_at is null`,
    [accountId, ids, at, reason],
  );
  await recordEnds(tx, scope, identityId, { ids, reason, actor: by ?? { type: 'identity', id: identityId } });
  return ids;
}

interface Ends {
  ids: readonly string[];
  reason: string;
  actor: Actor;
}

/** Records each end for the audit log, and all of them for the applications whose own sessions are over with them. */
async function recordEnds(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { ids, reason, actor }: Ends,
): Promise<void> {
  const signedOut = newest(ids).map((id) => ({ ...scope, resourceId: id, actor, metadata: { reason } }));
  await recordEvents(tx, 'auth.identity_signed_out', signedOut);
  if (reason === 'logout') {
    for (const id of ids) await recordSignedOut(tx, scope, identityId, id);
    return;
  }
  const about = { ...scope, resourceId: identityId, actor };
  const revoked = inParts(ids).map((part) => ({ ...about, metadata: { reason, session_ids: part } }));
  await recordEvents(tx, 'identity.sessions_revoked', revoked);
}
