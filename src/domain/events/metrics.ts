import { eventsRecorded, secondFactors, signIns } from '../../platform/metrics/metrics.js';
import { firstFactorOf } from '../first-factor-of.js';
import { type EventAction, eventCatalogue } from './catalogue.js';

type Metadata = Readonly<Record<string, unknown>>;

// Counters start at zero; otherwise monitoring would not see the first event as an increase.
for (const action of Object.keys(eventCatalogue)) eventsRecorded.inc({ action }, 0);

/** Counts a committed event, and the sign-in or second factor that it reports. */
export function measureEvent(action: EventAction, metadata: Metadata): void {
  eventsRecorded.inc({ action });
  counters[action]?.(metadata);
}

const counters: Partial<Record<EventAction, (metadata: Metadata) => void>> = {
  'identity.signed_in': (metadata) => signedIn('identity', metadata),
  'auth.identity_sign_in_failed': (metadata) => signInFailed('identity', metadata),
  'auth.mfa_challenge_passed': ({ factor }) => secondFactor('identity', factor, 'passed'),
  'auth.mfa_challenge_failed': ({ factor }) => secondFactor('identity', factor, 'failed'),
  'auth.admin_signed_in': (metadata) => signedIn('platform_admin', metadata),
  'auth.admin_sign_in_failed': (metadata) => signInFailed('platform_admin', metadata),
  'auth.admin_mfa_challenge_passed': ({ factor }) => secondFactor('platform_admin', factor, 'passed'),
  'auth.admin_mfa_challenge_failed': ({ factor }) => secondFactor('platform_admin', factor, 'failed'),
};

type Who = 'identity' | 'platform_admin';

const signedIn = (who: Who, { amr, connection_id }: Metadata) =>
  signIns.inc({
    actor_type: who,
    method: connection_id != null ? 'sso' : firstFactorOf(amr as string[]),
    outcome: 'succeeded',
  });

/** With a reason, the factor was right and the sign-in was refused for something else. */
const signInFailed = (who: Who, { method = 'password', reason }: Metadata) =>
  signIns.inc({ actor_type: who, method: known(method), outcome: reason === undefined ? 'failed' : 'refused' });

const secondFactor = (who: Who, factor: unknown, outcome: 'passed' | 'failed') =>
  secondFactors.inc({ actor_type: who, factor: known(factor), outcome });

const words = ['password', 'email_otp', 'passkey', 'sso', 'session', 'totp', 'webauthn', 'recovery_code'];
const known = (word: unknown): string => words.find((each) => each === word) ?? 'other';
