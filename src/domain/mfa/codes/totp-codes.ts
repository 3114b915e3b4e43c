import { generateSecret, generateURI, verifySync } from 'otplib';
import QRCode from 'qrcode';
import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, epochSeconds, minutes } from '../../../platform/clock.js';
import { openSealedJson } from '../../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import { DomainError } from '../../errors.js';
import { typedDigits } from '../../one-time/typed-digits.js';

/** RFC 6238, as every authenticator app takes it (contract §3). */
export const totpParameters = { algorithm: 'sha1', digits: 6, period: 30 } as const;
/** The default name of an app; the pages show it in their own language. */
export const totpLabel = 'Authenticator app';
const enrollmentLife = minutes(30);

export interface TotpEnrollment {
  /** 160 bits in base32, for those who type it. */
  secret: string;
  /** `otpauth://`, for an app on the same device. */
  uri: string;
  /** The same as a QR code: SVG markup without a title. */
  qrSvg: string;
  /** What has to be sent back with the first code. */
  sealed: string;
}

/** The person who enrolls, and the name of the entry in their app. */
export interface EnrollingPerson {
  id: string;
  email: string;
  issuer: string;
}

/** A factor that was confirmed with a first code. */
export interface TotpFactor {
  id: string;
  type: 'totp';
  label: string;
  /** Sealed. */
  secret: string;
  lastUsedStep: string;
}

interface Sealed {
  id: string;
  secret: string;
  expiresAt: number;
}

/**
 * The time step that a code belongs to, `drift` steps before or after now at most (RFC 6238 §5.2); null for a wrong
 * one.
 */
function stepOf(secret: string, code: string, now: Date, drift: number): number | null {
  const token = typedDigits(code);
  if (!/^\d{6}$/.test(token)) return null;
  const epoch = epochSeconds(now);
  const result = verifySync({ ...totpParameters, secret, token, epoch, epochTolerance: drift * totpParameters.period });
  return result.valid ? Math.floor(epoch / totpParameters.period) + result.delta : null;
}

export interface TotpEnrollmentsDeps {
  sealing: Pick<Sealing, 'seal' | 'open'>;
  /** The context of a sealed secret: first in a person's page, then in a factor's row. */
  contexts: { enrollment(personId: string): string; factor(factorId: string): string };
  now: Clock;
}

/** A first code, and the `sealed` secret of the page that asked for it. */
export interface FirstCode {
  sealed: string;
  code: string;
  /** Steps before and after the present one in which a code counts. */
  drift: number;
}

/**
 * Enrollment of an authenticator app, of end users and administrators alike: the secret waits, sealed, in the page that
 * shows it.
 */
export function createTotpEnrollments({ sealing, contexts, now }: TotpEnrollmentsDeps) {
  return {
    /** Makes a new secret. Nothing is stored. */
    begin(person: EnrollingPerson): Promise<TotpEnrollment> {
      const secret = generateSecret({ length: 20 });
      const content: Sealed = { id: uuidv7(), secret, expiresAt: after(now(), enrollmentLife).getTime() };
      return shown(person, secret, sealing.seal(JSON.stringify(content), contexts.enrollment(person.id)));
    },

    /**
     * An enrollment that has begun, to be shown once more after a wrong code.
     * @throws DomainError mfa.enrollment_expired
     */
    async resume(person: EnrollingPerson, sealed: string): Promise<TotpEnrollment> {
      return shown(person, open(person.id, sealed).secret, sealed);
    },

    /**
     * The factor for a first right code. Adding it twice is refused by its id.
     * @throws DomainError mfa.enrollment_expired, mfa.code_invalid
     */
    confirm(personId: string, { sealed, code, drift }: FirstCode): TotpFactor {
      const { id, secret } = open(personId, sealed);
      const step = stepOf(secret, code, now(), drift);
      if (step === null) throw new DomainError('mfa.code_invalid');
      return {
        id,
        type: 'totp',
        label: totpLabel,
        secret: sealing.seal(secret, contexts.factor(id)),
        lastUsedStep: String(step),
      };
    },
  };

  function open(personId: string, sealed: string): Sealed {
    const content = openSealedJson<Sealed>(sealing, sealed, contexts.enrollment(personId));
    if (!content || content.expiresAt <= now().getTime()) throw new DomainError('mfa.enrollment_expired');
    return content;
  }
}

async function shown({ email, issuer }: EnrollingPerson, secret: string, sealed: string): Promise<TotpEnrollment> {
  // A colon would end the issuer in the label (Key URI format).
  const uri = generateURI({ ...totpParameters, issuer: issuer.replaceAll(':', ' '), label: email, secret });
  const qrSvg = (await QRCode.toString(uri, { type: 'svg', errorCorrectionLevel: 'L' })).trim();
  return { secret, uri, qrSvg, sealed };
}

/** A stored app: its factor's id and sealed secret. */
export interface StoredApp {
  id: string;
  secret: string;
}

export interface SpendCode {
  code: string;
  at: Date;
  drift: number;
  /** Of a stored app: its secret in clear. */
  open(app: StoredApp): string;
  /**
   * Marks a time step as used; false if it or a later one was used before. One statement, so that parallel tries cannot
   * both succeed.
   */
  use(factorId: string, step: number): Promise<boolean>;
}

/** Whether a code is right for one of the apps, and spends its time step (RFC 6238 §5.2). */
export async function spendCode(
  apps: readonly StoredApp[],
  { code, at, drift, open, use }: SpendCode,
): Promise<boolean> {
  for (const app of apps) {
    const step = stepOf(open(app), code, at, drift);
    if (step !== null && (await use(app.id, step))) return true;
  }
  return false;
}
