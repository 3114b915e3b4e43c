import { v7 as uuidv7 } from 'uuid';
import type { User } from '../../../entities/user.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { ProvedAsOf } from '../admin-mfa/proved-as-of.js';
import type { Acr } from '../sessions/first-factor.js';

/**
 * A user who has proved who they are, but has not chosen the Application for their session yet. Any later change of what
 * the proof is as of makes the token worthless.
 */
export interface Selection extends ProvedAsOf {
  /** Id of the session that will start: its primary key makes the token work only once. */
  sessionId: string;
  userId: string;
  /** When they signed in. */
  authenticatedAt: Date;
  /** When they proved who they are at an identity provider, if they did (`authTimeOf`). */
  authTime: Date | null;
  amr: string[];
  acr: Acr;
  /** The identity provider that proved the user, for this Account only; null if the user proved it to us directly. */
  provider: { connectionId: string; accountId: string; ssoSessionId: string | null } | null;
}

const life = minutes(5);
const context = 'admin-application-selection';

/**
 * Writes and reads selection tokens. They are sealed, not signed, so that they reveal nothing to their bearer and no
 * other endpoint accepts them.
 */
export function createSelections({ sealing, now }: { sealing: Pick<Sealing, 'seal' | 'open'>; now: Clock }) {
  return {
    begin: (
      user: Pick<User, 'id'> & ProvedAsOf,
      { amr, acr, provider, authTime }: Pick<Selection, 'amr' | 'acr' | 'provider' | 'authTime'>,
    ): Selection => ({
      sessionId: uuidv7(),
      userId: user.id,
      passwordChangedAt: user.passwordChangedAt,
      mfaResetAt: user.mfaResetAt,
      emailChangedAt: user.emailChangedAt,
      amr,
      acr,
      authenticatedAt: now(),
      authTime,
      provider,
    }),
    write: (selection: Selection): string =>
      sealing.seal(JSON.stringify({ ...selection, expiresAt: after(now(), life) }), context),
    /** Returns null for anything that we did not write, or that has expired. */
    read(token: string): Selection | null {
      const written = openSealedJson<Selection & { expiresAt: Date }>(sealing, token, context);
      if (written === null) return null;
      // The dates are still strings here, as JSON has them.
      const { expiresAt, authenticatedAt, authTime, passwordChangedAt, mfaResetAt, emailChangedAt, ...selection } =
        written;
      if (new Date(expiresAt) <= now()) return null;
      return {
        ...selection,
        authenticatedAt: new Date(authenticatedAt),
        authTime: authTime ? new Date(authTime) : null,
        passwordChangedAt: passwordChangedAt && new Date(passwordChangedAt),
        mfaResetAt: mfaResetAt ? new Date(mfaResetAt) : null,
        emailChangedAt: emailChangedAt ? new Date(emailChangedAt) : null,
      };
    },
  };
}

export type Selections = ReturnType<typeof createSelections>;
