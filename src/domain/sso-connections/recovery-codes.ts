import { v7 as uuidv7 } from 'uuid';
import { SsoRecoveryCode } from '../../../entities/sso-recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import { assertStillMay } from '../../platform/context.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { type CodeHashing, createRecoveryCodeHashes } from '../mfa/codes/recovery-code-hashes.js';
import { findOrganization } from '../organizations/find.js';
import { lockOrganization } from '../organizations/members.js';

/** A set of codes as it is shown later. All zero and null if none has been created yet. */
export interface RecoverySet {
  count: number;
  remaining: number;
  /** The number of the set, counted from 1. */
  generation: number;
  createdAt: Date | null;
}

export interface SsoRecoveryCodesDeps {
  db: Db;
  passwords: CodeHashing;
  now: Clock;
}

export type SsoRecoveryCodes = ReturnType<typeof createSsoRecoveryCodes>;

/**
 * Manages the codes by which members of an organization that requires its identity provider can sign in while that is
 * down: ten, each valid for one sign-in of somebody who has proved who they are in another way. Stored as hashes.
 */
export function createSsoRecoveryCodes({ db, passwords, now }: SsoRecoveryCodesDeps) {
  const hashes = createRecoveryCodeHashes(passwords);
  return {
    /** @throws DomainError organization.not_found */
    read: (scope: EnvironmentScope, organizationId: string): Promise<RecoverySet> =>
      db.transaction(scope, async (tx) => {
        await findOrganization(tx, scope, organizationId);
        const [set] = await tx.query<RecoverySet[]>(
          `select count(*)::int as count, count(*) filter (where used_at is null)::int as remaining,
             coalesce(max(generation), 0) as generation, max(created_at) as "createdAt"
           from sso_recovery_codes where account_id = $1 and environment_id = $2 and organization_id = $3`,
          [scope.accountId, scope.environmentId, organizationId],
        );
        return set as RecoverySet;
      }),

    /**
     * Creates a new set, which makes the previous one void.
     * @returns the codes, which are never shown again
     * @throws DomainError organization.not_found
     */
    async renew(scope: EnvironmentScope, organizationId: string): Promise<RecoverySet & { codes: string[] }> {
      const { codes, stored } = await hashes.newSet();
      await assertStillMay(); // ten hashes take time
      return db.transaction(scope, async (tx) => {
        const { name: resourceLabel } = await lockOrganization(tx, scope, organizationId);
        const where = { ...within(scope), organizationId };
        const generation = ((await tx.maximum(SsoRecoveryCode, 'generation', where)) ?? 0) + 1;
        await tx.delete(SsoRecoveryCode, where);
        const createdAt = now();
        const { accountId, environmentId } = scope;
        const common = { accountId, environmentId, organizationId, generation, createdAt, usedAt: null };
        await tx.insert(
          SsoRecoveryCode,
          stored.map((code) => ({ id: uuidv7(), ...common, ...code })),
        );
        const metadata = { generation };
        const about = { ...scope, resourceId: organizationId, resourceLabel, metadata };
        await recordEvent(tx, 'organization.sso_recovery_codes_renewed', about);
        return { codes, count: codes.length, remaining: codes.length, generation, createdAt };
      });
    },
  };
}
