import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../../platform/scope.js';

/**
 * Keeps people deactivated whom the directories that deactivated them stop provisioning: those directories, or the
 * organization that has the people's domain by then, may activate them (docs/decisions/0040). The caller has locked the
 * people.
 * @param whose one person, or all whom organizations' directories have deactivated
 */
export async function rememberSuspensions(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  whose: { identityId: string } | { organizationIds: readonly string[] },
): Promise<void> {
  const [condition, value] =
    'identityId' in whose
      ? ['s.identity_id = $3', whose.identityId]
      : ['s.organization_id = any($3)', whose.organizationIds];
  await tx.query(
    `update environment_memberships m set kept_out_by = s.organization_id from scim_users s
     where m.account_id = $1 and m.environment_id = $2 and not m.is_active
       and s.environment_id = m.environment_id and s.identity_id = m.identity_id and ${condition} and s.is_suspended`,
    [accountId, environmentId, value],
  );
}
