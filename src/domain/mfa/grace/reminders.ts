import type { EntityManager } from 'typeorm';
import type { MfaGrace } from '../../../../entities/mfa-grace.js';
import { after } from '../../../platform/clock.js';
import { defaultLocaleOf } from '../../emails/locale.js';
import { queueEmail } from '../../emails/queue.js';

type Span = Pick<MfaGrace, 'startedAt' | 'expiresAt'>;

/** When each reminder is sent. A grace that is shorter than a reminder's time goes without it. */
const moments = ({ startedAt, expiresAt }: Span, reminders: readonly number[]) =>
  reminders
    .map((beforeMs) => ({ beforeMs, at: after(expiresAt, -beforeMs) }))
    .filter(({ at }) => at > startedAt)
    .sort((a, b) => a.at.getTime() - b.at.getTime());

/** The reminder whose time has come, as milliseconds before the end: the latest one, should the worker have been away. */
export const dueReminder = (span: Span, reminders: readonly number[], now: Date): number | null =>
  moments(span, reminders).findLast(({ at }) => at <= now)?.beforeMs ?? null;

/** The next moment at which there is something to do. */
export const nextMoment = (span: Span, reminders: readonly number[], now: Date): Date =>
  moments(span, reminders).find(({ at }) => at > now)?.at ?? span.expiresAt;

/** Sends one reminder, after the commit; only once for this end of the grace, however often it is called. */
export async function graceReminder(
  tx: EntityManager,
  { id, accountId, environmentId, round, expiresAt }: MfaGrace,
  beforeMs: number,
  now: Date,
): Promise<void> {
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  const cause = `mfa-grace/${id}/${round}/${expiresAt.getTime()}/${beforeMs}`;
  const mail = { template: 'mfa-grace-reminder', locale, subjectId: id, cause } as const;
  await queueEmail(tx, { ...mail, accountId, environmentId }, now);
}
