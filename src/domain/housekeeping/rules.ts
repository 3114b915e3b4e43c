import { after, days, hours, minutes } from '../../platform/clock.js';

/** Which rows are deleted: a condition on one indexed column, and how long rows are kept after that. */
export interface Rule {
  table: string;
  /** A name, if the table has more than one rule. */
  name?: string;
  /** The column with the moment from which the retention counts. */
  column: string;
  /** Milliseconds from that moment until a row is deleted. */
  retentionMs: number | 'as long as events';
  /** Further conditions; the column's partial index may need them. */
  and?: string;
  /** A column of milliseconds instead of a `timestamptz`. */
  epoch?: true;
}

/** A sign-in that is under way may still need its session or code: clocks differ, and a code lives for a minute. */
export const inProgress = hours(1);

/**
 * Tables that are swept by one column. Grants (with their codes) and sessions have statements of their own: a session
 * is not deleted before its last grant, which outlives it and would be deleted with it.
 */
export const rules: readonly Rule[] = [
  // A redeemed code is kept as long as its grant: if it is used again, the grant is revoked (RFC 6749 §4.1.2).
  { table: 'authorization_codes', column: 'expires_at', and: 'grant_id is null', retentionMs: inProgress },
  // Reuse of a spent token reveals a theft until its expiry; afterwards it is refused like an unknown one.
  { table: 'refresh_tokens', column: 'expires_at', retentionMs: minutes(1) },
  // The walk only visits the latest sessions. No grant lives this long, so everything found here can be deleted.
  {
    table: 'sessions',
    name: 'old_sessions',
    column: 'expires_at',
    and: 'not exists (select from grants where session_id = sessions.id)',
    retentionMs: days(400),
  },
  { table: 'user_sessions', column: 'expires_at', retentionMs: inProgress },
  { table: 'revoked_access_tokens', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'client_assertions', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'idempotent_requests', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'rate_limits', column: 'expire', epoch: true, retentionMs: minutes(1) },
  { table: 'pending_sign_ins', column: 'expires_at', retentionMs: inProgress },
  { table: 'sso_requests', column: 'expires_at', retentionMs: inProgress },
  { table: 'sso_sessions', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'sso_logouts', column: 'expires_at', retentionMs: inProgress },
  { table: 'sso_tests', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'pending_user_sign_ins', column: 'expires_at', retentionMs: inProgress },
  { table: 'emailed_codes', column: 'expires_at', retentionMs: inProgress },
  { table: 'trusted_devices', column: 'expires_at', retentionMs: minutes(1) },
  { table: 'spent_tokens', column: 'expires_at', retentionMs: minutes(1) },
  // They hold no personal data any more, and are kept so that support can see what became of them.
  { table: 'pending_registrations', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(30) },
  { table: 'account_intents', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(30) },
  // A confirmed one holds the former address, for the mail to it.
  { table: 'email_changes', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(30) },
  // They hold the address of a person who did not accept, or who is a member now.
  { table: 'administrator_invites', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(30) },
  // The same, but kept longer, since customers read an Environment's lists and numbers of invites.
  { table: 'identity_invites', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(90) },
  { table: 'identity_links', column: 'expires_at', retentionMs: days(30) },
  { table: 'daily_sign_ups', column: 'day', retentionMs: days(30) },
  { table: 'password_links', column: 'expires_at', retentionMs: days(30) },
  { table: 'emails', column: 'ended_at', and: 'ended_at is not null', retentionMs: days(90) },
  // With their attempts. A pending one is kept until it has ended, which takes days.
  { table: 'webhook_deliveries', column: 'settled_at', and: 'settled_at is not null', retentionMs: days(30) },
  // Removed, or past their window. They explain past decisions, and events refer to them.
  {
    table: 'role_assignments',
    column: 'least(removed_at, effective_to)',
    and: 'least(removed_at, effective_to) is not null',
    retentionMs: 'as long as events',
  },
];

/** Returns the latest moment, in the form of the rule's column, whose rows are deleted now. */
export function cutOff(
  { retentionMs, epoch }: Pick<Rule, 'retentionMs' | 'epoch'>,
  { now, eventsRetentionMs }: { now: Date; eventsRetentionMs: number },
): Date | number {
  const end = after(now, retentionMs === 'as long as events' ? -eventsRetentionMs : -retentionMs);
  return epoch ? end.getTime() : end;
}
