import type { EntityManager } from 'typeorm';
import { factorKinds } from '../../../entities/environment-settings.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { assertNotByTestProvider } from '../access/assignments/production-people.js';
import { DomainError } from '../errors.js';
import { lockSession } from '../sessions/lock-session.js';
import { judgeProof, type OwnProofOf, type WantedFor } from '../sessions/own-proof.js';
import { cameByMail, type MfaState, mfaStateOf } from './state.js';

export interface OwnMfaState extends MfaState {
  byMail: boolean;
  /** Of the session (RFC 8176). */
  amr: string[];
}

/**
 * Locks the session of a person who changes their own data. It must not have ended, nor come from a test Environment's
 * identity provider if the person is in production.
 * @param tx a transaction of the Account
 * @throws DomainError auth.invalid_credentials, identity.in_production
 */
export async function lockOwnSession(tx: EntityManager, person: OwnProofOf) {
  const session = await lockSession(tx, person);
  await assertNotByTestProvider(tx, person, person.identityId, session.ssoConnectionId);
  return session;
}

/**
 * Checks again what `OwnProof` has checked, for a person who changes their own factors, and locks it for the change:
 * meanwhile the session can have ended, or a factor was added that has to be shown. Without a factor there is nothing
 * to show; whether a first one needs a recent sign-in was checked before, and only time changes that.
 * @param tx a transaction of the Account
 * @returns the person's second factors, which stay as they are until its end, and how the session began
 * @throws DomainError auth.invalid_credentials, auth.reauthentication_required, identity.in_production
 */
export async function lockOwnProof(tx: EntityManager, person: OwnProofOf, at: Date): Promise<OwnMfaState> {
  const session = await lockOwnSession(tx, person);
  const { amr, acr, ssoConnectionId, ownFactorAt } = session;
  const state = {
    ...(await mfaStateOf(dbWithin(tx), person)),
    byMail: cameByMail({ ...session, method: 'session' }),
    amr,
  };
  if (state.enrolled === null) return state;
  // The Environment's settings only say what a sign-in has to ask for; that is not the question here.
  const wanted: WantedFor = { change: 'factors', mfaPolicy: 'required', amr, secondFactorAt: null };
  const { authenticatedAt, authTime } = person;
  const kinds = state.enrolled.filter((kind) => kind !== 'email_otp' || state.isVerified);
  const shown = { kinds, acr, authenticatedAt, authTime, ssoConnectionId, ownFactorAt };
  if (!judgeProof(shown, factorKinds, wanted, at).isEnough) throw new DomainError('auth.reauthentication_required');
  return state;
}
