import type { SsoDomain } from '../../../entities/sso-domain.js';
import { after, hours } from '../../platform/clock.js';
import type { Seen } from './challenge.js';

/** When claims are looked up, in milliseconds. */
export interface DomainSchedule {
  /** The pauses between look-ups of a new claim; after the last one it fails. */
  pauses: readonly number[];
  /** The pause between look-ups of a claim that is verified, or has been. */
  recheckMs: number;
  /** How long the record of a verified claim may be missing before the claim lapses. */
  lapseAfterMs: number;
}

/** Returns how long a new claim is looked up in total, in milliseconds. */
export const lifeOf = ({ pauses }: Pick<DomainSchedule, 'pauses'>): number => pauses.reduce((sum, one) => sum + one, 0);

/** Returns the times of a claim that begins at `startedAt`. */
export const timesFrom = (
  startedAt: Date,
  schedule: Pick<DomainSchedule, 'pauses'>,
): Pick<SsoDomain, 'startedAt' | 'failsAt' | 'nextCheckAt'> => ({
  startedAt,
  failsAt: after(startedAt, lifeOf(schedule)),
  nextCheckAt: nextLook({ startedAt }, schedule, { now: startedAt }),
});

/**
 * Returns the next look-up of a claim that was not found: by the schedule, but not while resolvers cache the absence.
 */
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
  return new Date(notBefore); // the final look-up
}

/**
 * Returns the next look-up of a verified claim that was just looked up; an hour later at most if the zone is broken.
 */
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
 * Returns since when the record of a verified claim, not found just now, has been missing. A zone that cannot be
 * queried does not count as missing it. If no worker ran for as long as it takes to lapse, the absence begins with this
 * look-up, whatever its result.
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
 * Whether the record of a verified claim, not found just now, has been missing for too long. A zone that cannot be
 * queried gets ten times as long, also if its record was missed before: a broken name server does not mean that somebody
 * removed the record, but nobody vouches for the domain any more.
 */
export function hasLapsed(
  { absentSince, lastFoundAt }: Pick<SsoDomain, 'absentSince' | 'lastFoundAt'>,
  { lapseAfterMs }: Pick<DomainSchedule, 'lapseAfterMs'>,
  { now, seen }: { now: Date; seen: Exclude<Seen['kind'], 'found'> },
): boolean {
  if (absentSince !== null && now < after(absentSince, lapseAfterMs)) return false;
  if (seen === 'missed') return absentSince !== null;
  return lastFoundAt !== null && now >= after(lastFoundAt, 10 * lapseAfterMs);
}
