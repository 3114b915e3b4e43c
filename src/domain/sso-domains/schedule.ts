import type { SsoDomain } from '../../../entities/sso-domain.js';
import { after, hours } from '../../platform/clock.js';
import type { Seen } from './challenge.js';

/** When claims are looked at, in milliseconds. */
export interface DomainSchedule {
  /** The pauses between two looks for a claim that is new; after the last one it fails. */
  pauses: readonly number[];
  /** Between two looks at one that is verified, or has been. */
  recheckMs: number;
  /** For how long a verified one is missed before it lapses. */
  lapseAfterMs: number;
}

/** How long a claim is looked for in all. */
export const lifeOf = ({ pauses }: Pick<DomainSchedule, 'pauses'>): number => pauses.reduce((sum, one) => sum + one, 0);

/** The times of a claim that is looked for from now on. */
export const timesFrom = (
  startedAt: Date,
  schedule: Pick<DomainSchedule, 'pauses'>,
): Pick<SsoDomain, 'startedAt' | 'failsAt' | 'nextCheckAt'> => ({
  startedAt,
  failsAt: after(startedAt, lifeOf(schedule)),
  nextCheckAt: nextLook({ startedAt }, schedule, { now: startedAt }),
});

/** The next look for a claim of which nothing was found: by the schedule, and not before everybody has forgotten that. */
export function nextLook(
  { startedAt }: Pick<SsoDomain, 'startedAt'>,
  { pauses }: Pick<DomainSchedule, 'pauses'>,
  { now, cachedMs = 0 }: { now: Date; cachedMs?: number },
): Date {
  const notBefore = Math.max(now.getTime() + 1, now.getTime() + cachedMs);
  let at = startedAt.getTime();
  for (const pause of pauses) {
    at += pause;
    if (at >= notBefore) return new Date(at);
  }
  return new Date(notBefore); // the last one
}

/** The next look at a verified claim that was just looked at. A zone that is broken is looked at sooner. */
export function nextLookAtVerified(
  { absentSince }: Pick<SsoDomain, 'absentSince'>,
  { recheckMs, lapseAfterMs }: DomainSchedule,
  { now, seen }: { now: Date; seen: Seen['kind'] },
): Date {
  const usual = after(now, seen === 'unknown' ? Math.min(recheckMs, hours(1)) : recheckMs);
  if (!absentSince) return usual;
  const lapses = after(absentSince, lapseAfterMs);
  return lapses > now && lapses < usual ? lapses : usual;
}

/**
 * Since when a verified claim that was not found just now is missed. A zone of which nothing can be learned is not missing anything; but where
 * nobody looked for as long as it takes to lapse, since no worker ran, being missed begins anew with this one, whatever it says.
 */
export function missedSince(
  { absentSince, nextCheckAt }: Pick<SsoDomain, 'absentSince' | 'nextCheckAt'>,
  { lapseAfterMs }: Pick<DomainSchedule, 'lapseAfterMs'>,
  { now, seen }: { now: Date; seen: Exclude<Seen['kind'], 'found'> },
): Date | null {
  const isLate = nextCheckAt !== null && now > after(nextCheckAt, lapseAfterMs);
  return isLate || (absentSince === null && seen === 'missed') ? now : absentSince;
}

/**
 * Whether a verified claim has been missed for too long. A zone of which nothing can be learned takes ten times as long: a
 * broken name server is not somebody who took the record away, and yet nobody answers for the domain any more.
 */
export const hasLapsed = (
  { absentSince, lastFoundAt }: Pick<SsoDomain, 'absentSince' | 'lastFoundAt'>,
  { lapseAfterMs }: Pick<DomainSchedule, 'lapseAfterMs'>,
  now: Date,
): boolean =>
  absentSince !== null
    ? now >= after(absentSince, lapseAfterMs)
    : lastFoundAt !== null && now >= after(lastFoundAt, 10 * lapseAfterMs);
