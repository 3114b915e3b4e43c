import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { after, seconds } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { RunsStatement } from '../../platform/database/db.js';
import { announceCredentials } from '../cached-credentials.js';
import type { SsoRefusal } from '../sso-protocols/assertion.js';
import { recordConnectionEvent } from './events.js';
import { mailAutoDisabled } from './mails.js';

/** After this many refused responses in a row a connection switches itself off (contract §8). */
export const maxFailures = 10;

const quiet = seconds(1);
const successStatement = {
  name: 'note_success_of_sso_connection',
  text: `
update sso_connections set last_login_at = $2, consecutive_failures = 0
where id = $1 and (consecutive_failures > 0 or last_login_at is null or last_login_at < $3)`,
};

/**
 * Records that a response was accepted, in a scope that sees the connection: its Account's, or the system's. Updates a
 * connection at most once a second, so that many sign-ins at once do not queue for its row.
 * @param connection as it was read a moment ago; if it needs no update, no statement runs
 */
export async function noteSuccess(
  run: RunsStatement,
  { id, consecutiveFailures, lastLoginAt }: Pick<SsoConnection, 'id' | 'consecutiveFailures' | 'lastLoginAt'>,
  now: Date,
): Promise<void> {
  const noted = after(now, -quiet);
  if (consecutiveFailures === 0 && lastLoginAt && lastLoginAt >= noted) return;
  await run(successStatement, [id, now, noted]);
}

/**
 * Records that a response to our request was refused. The tenth in a row switches an active connection off, records
 * `sso_connection.auto_disabled` and notifies all who may manage it by mail. Concurrent failures are counted one by
 * one. Sessions that began by the connection continue. Not for responses to test sign-ins, nor for unsolicited ones.
 * @returns whether this failure has switched it off
 */
export async function noteFailure(
  tx: EntityManager,
  { id }: Pick<SsoConnection, 'id'>,
  refusal: SsoRefusal,
  now: Date,
): Promise<boolean> {
  const connection = await tx.findOne(SsoConnection, { where: { id }, lock: { mode: 'for_no_key_update' } });
  if (!connection) return false;
  const consecutiveFailures = connection.consecutiveFailures + 1;
  const isLast = connection.status === 'active' && consecutiveFailures >= maxFailures;
  const failed = { consecutiveFailures, lastLoginFailureAt: now };
  const switchedOff = { status: 'auto_disabled', autoDisabledAt: now, updatedAt: now } as const;
  await tx.update(SsoConnection, { id }, { ...failed, ...(isLast && switchedOff) });
  if (!isLast) return false;
  await announceCredentials(tx);
  await recordConnectionEvent(tx, 'sso_connection.auto_disabled', connection, {
    previous_status: connection.status,
    reason: refusal,
    consecutive_failures: consecutiveFailures,
    actor: systemActor,
  });
  await mailAutoDisabled(tx, connection, now);
  return true;
}
