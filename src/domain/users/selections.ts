import { v7 as uuidv7 } from 'uuid';
import type { User } from '../../../entities/user.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Acr } from '../sessions/first-factor.js';

/** A proved user whose session still waits for its Application. */
export interface Selection {
  /** Of the session to be: its primary key makes the token work once. */
  sessionId: string;
  userId: string;
  /** When they came in, from which what they are given lasts. */
  authenticatedAt: Date;
  /** When it was proved, where that was to an identity provider (`authTimeOf`). */
  authTime: Date | null;
  amr: string[];
  acr: Acr;
  /** Of the password that proved the user: a later change makes the token worthless. */
  passwordChangedAt: Date | null;
  /** As it was when the last factor was proved: a later reset makes the token worthless, too. */
  mfaResetAt: Date | null;
  /** By which identity provider, and for which Account alone; null where the User themselves has proved who they are. */
  provider: { connectionId: string; accountId: string; ssoSessionId: string | null } | null;
}

const life = minutes(5);
const context = 'admin-application-selection';

/**
 * Selection tokens: sealed, not signed, so that they say nothing to their bearer and nothing else takes them for a token.
 */
export function createSelections({ sealing, now }: { sealing: Pick<Sealing, 'seal' | 'open'>; now: Clock }) {
  return {
    begin: (
      user: Pick<User, 'id' | 'passwordChangedAt' | 'mfaResetAt'>,
      { amr, acr, provider, authTime }: Pick<Selection, 'amr' | 'acr' | 'provider' | 'authTime'>,
    ): Selection => ({
      sessionId: uuidv7(),
      userId: user.id,
      passwordChangedAt: user.passwordChangedAt,
      mfaResetAt: user.mfaResetAt,
      amr,
      acr,
      authenticatedAt: now(),
      authTime,
      provider,
    }),
    write: (selection: Selection): string =>
      sealing.seal(JSON.stringify({ ...selection, expiresAt: after(now(), life) }), context),
    /** Null for whatever we did not write, or wrote too long ago. */
    read(token: string): Selection | null {
      const written = openSealedJson<Selection & { expiresAt: Date }>(sealing, token, context);
      if (written === null) return null;
      // Dates as texts, still.
      const { expiresAt, authenticatedAt, authTime, passwordChangedAt, mfaResetAt, ...selection } = written;
      if (new Date(expiresAt) <= now()) return null;
      return {
        ...selection,
        authenticatedAt: new Date(authenticatedAt),
        authTime: authTime ? new Date(authTime) : null,
        passwordChangedAt: passwordChangedAt && new Date(passwordChangedAt),
        mfaResetAt: mfaResetAt ? new Date(mfaResetAt) : null,
      };
    },
  };
}

export type Selections = ReturnType<typeof createSelections>;
