import type { EntityManager } from 'typeorm';
import { factorKinds } from '../../../entities/environment-settings.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { assertNotByTestProvider } from '../access/production-people.js';
import { DomainError } from '../errors.js';
import { holdSession } from '../sessions/hold.js';
import { judgeProof, type OwnProofOf, type WantedFor } from '../sessions/own-proof.js';
import { cameByMail, type Standing, standingOf } from './standing.js';

export interface OwnStanding extends Standing {
  byMail: boolean;
}

/**
 * Who changes something of their own: a session that has not ended, by no provider of an Environment for tests where its person is in production.
 * @param tx a transaction of the Account
 * @throws DomainError auth.invalid_credentials, identity.in_production
 */
export async function holdOwnSession(tx: EntityManager, person: OwnProofOf) {
  const session = await holdSession(tx, person);
  await assertNotByTestProvider(tx, person, person.identityId, session.ssoConnectionId);
  return session;
}

/**
 * Looks once more at who changes their own factors, as `OwnProof` did before, and keeps it so for the change itself: the session can have
 * ended meanwhile, and a factor that came is one to be shown. Who has none has nothing to show; whether a first one needs a recent
 * sign-in is looked at before, and nothing but time changes it.
 * @param tx a transaction of the Account
 * @returns how the person stands until its end, and whether the session began with a mailed code
 * @throws DomainError auth.invalid_credentials, auth.reauthentication_required, identity.in_production
 */
export async function holdOwnProof(tx: EntityManager, person: OwnProofOf, at: Date): Promise<OwnStanding> {
  const session = await holdOwnSession(tx, person);
  const { amr, acr, ssoConnectionId, ownFactorAt } = session;
  const standing = {
    ...(await standingOf(dbWithin(tx), person)),
    byMail: cameByMail({ ...session, method: 'session' }),
  };
  if (standing.enrolled === null) return standing;
  // Settings of the Environment only say what a sign-in would have to ask for, which is not the question here.
  const wanted: WantedFor = { change: 'factors', mfaPolicy: 'required', amr, secondFactorAt: null };
  const { authenticatedAt, authTime } = person;
  const kinds = standing.enrolled.filter((kind) => kind !== 'email_otp' || standing.isVerified);
  const shown = { kinds, acr, authenticatedAt, authTime, ssoConnectionId, ownFactorAt };
  if (!judgeProof(shown, factorKinds, wanted, at).isEnough) throw new DomainError('auth.reauthentication_required');
  return standing;
}
