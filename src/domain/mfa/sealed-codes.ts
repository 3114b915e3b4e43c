import { after, type Clock, minutes } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { spend } from '../spent-tokens.js';

const context = 'recovery-codes-page';
const life = minutes(10);

/** What the page of new recovery codes is made of, and how its sign-in goes on. */
export interface CodesPage {
  codes: string[];
  /** The `enrollment_token` of the sign-in in which they were made. */
  enrollmentToken: string;
}

export type OpenedCodes =
  | ({ outcome: 'opened' } & CodesPage)
  /** Shown before, which happens once; the sign-in can still go on. */
  | { outcome: 'shown'; enrollmentToken: string }
  | { outcome: 'expired' };

/** New recovery codes on their way to the page that shows them once: sealed in its address, and stored nowhere in clear. */
export function createSealedCodes({
  db,
  sealing,
  now,
}: {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  now: Clock;
}) {
  return {
    /** The `codes_token`. */
    seal: (page: CodesPage): string =>
      sealing.seal(JSON.stringify({ ...page, id: newSecret(), expiresAt: after(now(), life).getTime() }), context),

    /** What it holds, the first time. */
    async open(token: string): Promise<OpenedCodes> {
      const held = openOrNull(token);
      if (!held || held.expiresAt <= now().getTime()) return { outcome: 'expired' };
      const { id, codes, enrollmentToken, expiresAt } = held;
      const isFirst = await spend(db, id, new Date(expiresAt));
      return isFirst ? { outcome: 'opened', codes, enrollmentToken } : { outcome: 'shown', enrollmentToken };
    },
  };

  function openOrNull(token: string): (CodesPage & { id: string; expiresAt: number }) | null {
    try {
      return JSON.parse(sealing.open(token, context));
    } catch {
      return null;
    }
  }
}

export type SealedCodes = ReturnType<typeof createSealedCodes>;
