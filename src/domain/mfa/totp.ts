import { generateSecret, generateURI, verifySync } from 'otplib';
import QRCode from 'qrcode';
import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, minutes } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { AccountScope, Db, EnvironmentScope } from '../../platform/db.js';
import { applicationNameOf } from '../emails/brand.js';
import { DomainError } from '../errors.js';
import type { NewFactor } from './factors.js';

/** RFC 6238, as every authenticator app takes it (contract §3). */
const parameters = { algorithm: 'sha1', digits: 6, period: 30 } as const;
const enrollmentLife = minutes(30);
/** What a factor's sealed secret is bound to. */
export const secretContext = (factorId: string) => `mfa_factors.secret/${factorId}`;
const enrollmentContext = (identityId: string) => `totp-enrollment/${identityId}`;

export interface TotpEnrollment {
  /** 160 bits in base32, for those who type it. */
  secret: string;
  /** `otpauth://`, for an app on the same device. */
  uri: string;
  /** The same as a picture: SVG markup without a name of its own. */
  qrSvg: string;
  /** What has to come back with the first code. */
  sealed: string;
}

export interface EnrollingIdentity {
  identityId: string;
  email: string;
}

interface Sealed {
  id: string;
  secret: string;
  expiresAt: number;
}

/** The time step that a code belongs to, one before or after now at most; null for a wrong one. */
function stepOf(secret: string, code: string, now: Date): number | null {
  const token = code.replace(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return null;
  const epoch = Math.floor(now.getTime() / 1000);
  const result = verifySync({ ...parameters, secret, token, epoch, epochTolerance: parameters.period });
  return result.valid ? Math.floor(epoch / parameters.period) + result.delta : null;
}

// Comparing and setting are one statement: of two that show the same step at once, one waits for the other and finds it used.
const useStatement = {
  name: 'use_totp_step',
  text: `
update mfa_factors set last_used_step = $3, last_used_at = $4
where account_id = $1 and id = $2 and (last_used_step is null or last_used_step < $3) returning id`,
};
const ofIdentityStatement = {
  name: 'totp_factors_of_identity',
  text: `select id, secret from mfa_factors where account_id = $1 and identity_id = $2 and type = 'totp'`,
};

/** Time-based codes of authenticator apps (RFC 6238). */
export function createTotp({ db, sealing, now }: { db: Db; sealing: Pick<Sealing, 'seal' | 'open'>; now: Clock }) {
  return {
    /** Makes a new secret. Nothing is stored: it waits, sealed, in the page that shows it. */
    beginEnrollment(scope: EnvironmentScope, identity: EnrollingIdentity): Promise<TotpEnrollment> {
      const secret = generateSecret({ length: 20 });
      const held: Sealed = { id: uuidv7(), secret, expiresAt: after(now(), enrollmentLife).getTime() };
      const sealed = sealing.seal(JSON.stringify(held), enrollmentContext(identity.identityId));
      return shown(scope, identity, { secret, sealed });
    },

    /** One that has begun, to show it once more after a wrong code. @throws DomainError mfa.enrollment_expired */
    async resumeEnrollment(
      scope: EnvironmentScope,
      identity: EnrollingIdentity,
      sealed: string,
    ): Promise<TotpEnrollment> {
      const { secret } = openEnrollment(identity.identityId, sealed);
      return shown(scope, identity, { secret, sealed });
    },

    /**
     * The factor that a first right code makes of it, for `factors`: added twice, its id is refused.
     * @throws DomainError mfa.enrollment_expired, mfa.code_invalid
     */
    confirmEnrollment(identityId: string, { sealed, code }: { sealed: string; code: string }): NewFactor {
      const { id, secret } = openEnrollment(identityId, sealed);
      const step = stepOf(secret, code, now());
      if (step === null) throw new DomainError('mfa.code_invalid');
      return {
        id,
        type: 'totp',
        label: 'Authenticator app',
        secret: sealing.seal(secret, secretContext(id)),
        lastUsedStep: String(step),
      };
    },

    /** Whether a code is right, and spends its time step (RFC 6238 §5.2): neither it nor an earlier one is accepted again. */
    async verify({ accountId }: AccountScope, identityId: string, code: string): Promise<boolean> {
      const factors = await db.statement<{ id: string; secret: string }>(ofIdentityStatement, [accountId, identityId]);
      const at = now();
      for (const { id, secret } of factors) {
        const step = stepOf(sealing.open(secret, secretContext(id)), code, at);
        if (step === null) continue;
        const used = await db.statement(useStatement, [accountId, id, step, at]);
        if (used.length > 0) return true;
      }
      return false;
    },
  };

  async function shown(
    { accountId, environmentId }: EnvironmentScope,
    { email }: EnrollingIdentity,
    { secret, sealed }: Pick<TotpEnrollment, 'secret' | 'sealed'>,
  ): Promise<TotpEnrollment> {
    const name = await db.transaction({ accountId }, (tx) => applicationNameOf(tx, environmentId));
    const issuer = name.replaceAll(':', ' '); // a colon would end it in the label (Key URI format)
    const uri = generateURI({ ...parameters, issuer, label: email, secret });
    const qrSvg = (await QRCode.toString(uri, { type: 'svg', errorCorrectionLevel: 'L' })).trim();
    return { secret, uri, qrSvg, sealed };
  }

  function openEnrollment(identityId: string, sealed: string): Sealed {
    const held = openOrNull(sealed, enrollmentContext(identityId));
    if (!held || held.expiresAt <= now().getTime()) throw new DomainError('mfa.enrollment_expired');
    return held;
  }

  function openOrNull(sealed: string, context: string): Sealed | null {
    try {
      return JSON.parse(sealing.open(sealed, context));
    } catch {
      return null; // forged, cut, or of another person
    }
  }
}

export type Totp = ReturnType<typeof createTotp>;
