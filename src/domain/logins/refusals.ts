import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';
import type { Db } from '../../platform/database/db.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';

/** What a person proved, and why it is not enough. */
export interface Refusal {
  identityId: string;
  method: FirstFactorMethod;
  /** Code of the refusal that the person was shown. */
  reason: string;
}

/** Records that a person who has proved a first factor was refused, so that support can find out why. */
export const recordSignInRefusal = (
  db: Db,
  place: EnvironmentScope,
  { identityId, method, reason }: Refusal,
): Promise<string> => {
  const scope = environmentScopeOf(place);
  return db.transaction(scope, (tx) =>
    recordEvent(tx, 'auth.identity_sign_in_failed', {
      ...scope,
      resourceId: identityId,
      outcome: 'denied',
      metadata: { method, reason },
    }),
  );
};
