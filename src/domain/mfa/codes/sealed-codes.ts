import { after, type Clock, minutes } from '../../../platform/clock.js';
import { equalInConstantTime, hashSecret, newSecret } from '../../../platform/crypto/one-time-secret.js';
import { openSealedJson } from '../../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import type { Db } from '../../../platform/database/db.js';
import { spend } from '../../one-time/spent-tokens.js';

const context = 'recovery-codes-page';
const life = minutes(10);

/** The contents of the page of new recovery codes. */
export interface CodesPage {
  codes: string[];
  /** The `enrollment_token` of the sign-in in which they were made. */
  enrollmentToken: string;
}

export type OpenedCodes =
  | {
      outcome: 'opened';
      enrollmentToken: string;
      /**
       * Returns the codes, the first time; null if they were shown before. Call it last, since nothing may fail after
       * it.
       */
      take(): Promise<string[] | null>;
    }
  /** It belongs to somebody else. */
  | { outcome: 'foreign' }
  | { outcome: 'expired' };

interface Sealed extends CodesPage {
  id: string;
  expiresAt: number;
  /** SHA-256 of what its holder has to present. Missing in tokens of an earlier release, which nobody can open. */
  holder?: string;
}

/**
 * New recovery codes on their way to the page that shows them once: sealed in the page's address, and stored nowhere in
 * clear. Addresses leak, so opening it also takes something that only its holder has: the browser's cookie, or the
 * session (docs/decisions/0013).
 */
export function createSealedCodes({
  db,
  sealing,
  now,
}: {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  now: Clock;
}) {
  const isHolder = ({ holder }: Sealed, presented: readonly string[]) =>
    holder !== undefined && presented.some((one) => equalInConstantTime(hashOf(one), holder));

  return {
    /** The `codes_token`. @param holder what has to be presented to open it */
    seal(page: CodesPage, holder: string): string {
      const expiresAt = after(now(), life).getTime();
      return sealing.seal(
        JSON.stringify({ ...page, id: newSecret(), expiresAt, holder: hashOf(holder) } satisfies Sealed),
        context,
      );
    },

    /** Opens it without using it up. @param presented what the caller has, one of which must be the holder's */
    open(token: string, presented: readonly string[]): OpenedCodes {
      const content = openSealedJson<Sealed>(sealing, token, context);
      if (!content || content.expiresAt <= now().getTime()) return { outcome: 'expired' };
      if (!isHolder(content, presented)) return { outcome: 'foreign' };
      const { id, codes, enrollmentToken, expiresAt } = content;
      const take = async () => ((await spend(db, id, new Date(expiresAt))) ? codes : null);
      return { outcome: 'opened', enrollmentToken, take };
    },

    /** Whether the caller is its holder, however long ago it was shown: the codes may take a while to be saved. */
    isHeld(token: string, presented: readonly string[]): boolean {
      const content = openSealedJson<Sealed>(sealing, token, context);
      return content !== null && isHolder(content, presented);
    },
  };
}

const hashOf = (holder: string): string => hashSecret(holder).toString('base64url');

export type SealedCodes = ReturnType<typeof createSealedCodes>;
