import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { after, seconds } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { RunsStatement } from '../../platform/database/db.js';
import type { SsoRefusal } from '../sso-protocols/assertion.js';
import { recordConnectionEvent } from './events.js';
import { tellAutoDisabled } from './mails.js';

/** After so many refused answers in a row a connection switches itself off (contract §8). */
export const mostFailures = 10;

const quiet = seconds(1);
const successStatement = {
  name: 'note_success_of_sso_connection',
  text: `
update sso_connections set last_login_at = $2, consecutive_failures = 0
where id = $1 and (consecutive_failures > 0 or last_login_at is null or last_login_at < $3)`,
};

/**
 * Somebody's answer was taken. In a scope that sees the connection: of its Account, or of the system. A connection by which many
 * sign in at once is written to once a second: its row is no queue.
 * @param connection as it was read a moment ago; where that has nothing to change, nothing is asked
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
 * An answer to a request of ours was refused: the tenth in a row switches an active connection off, records
 * `sso_connection.auto_disabled` and has whoever may manage it told by mail. Those that are at once are counted one by one.
 * Sessions that began by it go on. Not for the answers of test sign-ins, nor for those that nobody here asked for.
 * @returns whether this one has switched it off
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
  const isLast = connection.status === 'active' && consecutiveFailures >= mostFailures;
  const failed = { consecutiveFailures, lastLoginFailureAt: now };
  const switchedOff = { status: 'auto_disabled', autoDisabledAt: now, updatedAt: now } as const;
  await tx.update(SsoConnection, { id }, { ...failed, ...(isLast && switchedOff) });
  if (!isLast) return false;
  await recordConnectionEvent(tx, 'sso_connection.auto_disabled', connection, {
    previous_status: connection.status,
    reason: refusal,
    consecutive_failures: consecutiveFailures,
    actor: systemActor,
  });
  await tellAutoDisabled(tx, connection, now);
  return true;
}
