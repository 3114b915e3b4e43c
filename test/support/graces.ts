import { restartGrace, settleEnrollment } from '../../src/domain/mfa/grace/rules.js';
import type { Clock } from '../../src/platform/clock.js';
import type { Db } from '../../src/platform/database/db.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';

/** What a first factor, and an administrator's reset, do to a person's time to enroll; the factors stay as they are. */
export const graceChanges = ({ db, now }: { db: Pick<Db, 'transaction'>; now: Clock }) => ({
  enrolled: (scope: EnvironmentScope, identityId: string): Promise<void> =>
    db.transaction({ accountId: scope.accountId }, (tx) => settleEnrollment(tx, scope, identityId, now())),

  reset: (scope: EnvironmentScope, identityId: string, days: number): Promise<void> =>
    db.transaction({ accountId: scope.accountId }, (tx) => restartGrace(tx, scope, { identityId, days, now: now() })),
});
