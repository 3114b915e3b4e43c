import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { Passwords } from '../passwords/passwords.js';
import { createConfirmSignUp, type SignUpLink } from './confirm.js';
import { createRequestSignUp, type RequestSignUp } from './request.js';
import { createResend, type Resend } from './resend.js';

/** Self-service sign-up of end users (spec.md, `/oauth/register`; docs/decisions/0011). */
export interface SignUps {
  request: RequestSignUp;
  /** The link in the mail that proves the address. */
  link: SignUpLink;
  /** Sends that mail again. */
  resend: Resend;
}

export interface SignUpsDeps {
  db: Db;
  sealing: Sealing;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  rateLimits: boolean;
  now: Clock;
}

export const createSignUps = (deps: SignUpsDeps): SignUps => ({
  request: createRequestSignUp(deps),
  link: createConfirmSignUp(deps),
  resend: createResend(deps),
});
