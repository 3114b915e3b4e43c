import { type EntityManager, IsNull } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { type AuthenticationPolicy, Organization } from '../../../entities/organization.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { lackingFactorToEnroll } from '../environments/factor-to-enroll.js';
import { methodsOf } from '../environments/login-methods.js';
import { DomainError, type ErrorDetail } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { lockOrganization } from './members.js';

/** A policy under a version of its own: other changes of the organization do not change it. */
export interface VersionedPolicy extends AuthenticationPolicy {
  version: number;
}

/**
 * How members of an organization may sign in, beyond what the Environment requires (contract §5). Enforced at sign-in.
 */
export function createAuthenticationPolicies({ db }: { db: Db }) {
  return {
    /** @throws DomainError organization.not_found */
    get: (scope: EnvironmentScope, id: string): Promise<VersionedPolicy> =>
      db.transaction(scope, async (tx) => {
        const organization = await tx.findOneBy(Organization, { ...within(scope), id });
        if (!organization) throw new DomainError('organization.not_found');
        return versioned(organization);
      }),

    /**
     * Replaces it as a whole. The same values again are no change.
     * @param version as the caller read it
     * @throws DomainError organization.not_found, version.conflict with the current policy, validation.failed
     */
    replace: (
      scope: EnvironmentScope,
      id: string,
      { version, policy }: { version: number; policy: AuthenticationPolicy },
    ): Promise<VersionedPolicy> =>
      db.transaction(scope, async (tx) => {
        const organization = await lockOrganization(tx, scope, id);
        const current = versioned(organization);
        if (current.version !== version) throw new DomainError('version.conflict', { current });
        const changed = (Object.keys(policy) as (keyof AuthenticationPolicy)[]).filter(
          (field) => !isSame(policy[field], current[field]),
        );
        if (changed.length === 0) return current;
        await assertUsable(tx, scope, policy, changed);
        if (leavesSsoOnly(policy) && !leavesSsoOnly(current)) await assertSomeProvider(tx, scope, id);
        const updated = { authenticationPolicy: policy, authenticationPolicyVersion: version + 1 };
        await tx.update(Organization, { ...within(scope), id }, updated);
        const metadata = { changed: ['authentication_policy'], authentication_policy: policy };
        await recordEvent(tx, 'organization.updated', {
          ...scope,
          resourceId: id,
          resourceLabel: organization.name,
          metadata,
        });
        return versioned({ ...organization, ...updated });
      }),
  };
}

export type AuthenticationPolicies = ReturnType<typeof createAuthenticationPolicies>;

/**
 * Checks that people can sign in under the policy itself. Unchanged values are not checked against what the Environment
 * offers now, so that they do not block changes of others.
 * @throws DomainError validation.failed
 */
async function assertUsable(
  tx: EntityManager,
  scope: EnvironmentScope,
  { allowed_methods, require_sso, require_mfa, session_ttl_seconds }: AuthenticationPolicy,
  changed: readonly (keyof AuthenticationPolicy)[],
): Promise<void> {
  // Locked until the end, since a change of the settings checks the existing policies.
  const settings = await tx.findOneOrFail(EnvironmentSettings, {
    where: within(scope),
    lock: { mode: 'pessimistic_read' },
  });
  const { sessionTtlSeconds, mfaAllowedFactors } = settings;
  const details: ErrorDetail[] = [];
  const methods: readonly string[] = [...methodsOf(settings), 'sso'];
  if (
    changed.includes('allowed_methods') &&
    allowed_methods?.length &&
    !allowed_methods.some((method) => methods.includes(method))
  ) {
    const message = `names no sign-in method that the environment has enabled: ${methods.join(', ')}`;
    details.push({ field: 'allowed_methods', code: 'not_offered', message });
  }
  if (require_sso && allowed_methods && !allowed_methods.includes('sso')) {
    const message = 'requires sso among the allowed methods, or no list of them';
    details.push({ field: 'require_sso', code: 'not_allowed', message });
  }
  if (require_mfa && lackingFactorToEnroll(mfaAllowedFactors)) {
    const message = 'requires totp or webauthn among the factors that the environment allows';
    details.push({ field: 'require_mfa', code: 'no_factor', message });
  }
  if (
    changed.includes('session_ttl_seconds') &&
    session_ttl_seconds !== null &&
    session_ttl_seconds > sessionTtlSeconds
  ) {
    const message = `is longer than the environment's sessions: ${sessionTtlSeconds} seconds`;
    details.push({ field: 'session_ttl_seconds', code: 'too_long', message });
  }
  if (details.length > 0) throw new DomainError('validation.failed', { details });
}

/** Asks the same as `wantsSso` does at sign-in. */
const leavesSsoOnly = ({ allowed_methods: allowed, require_sso }: AuthenticationPolicy): boolean =>
  require_sso || (allowed?.length === 1 && allowed[0] === 'sso');

/**
 * Checks that a provider can sign people in, if no other way is left. Only checked if that is new, so that a disabled
 * provider does not block other changes.
 * @throws DomainError validation.failed
 */
async function assertSomeProvider(tx: EntityManager, { environmentId }: EnvironmentScope, id: string): Promise<void> {
  const connections = await tx.findBy(SsoConnection, [
    { environmentId, organizationId: id },
    { environmentId, organizationId: IsNull() },
  ]);
  const own = connections.filter(({ organizationId }) => organizationId === id);
  if ((own.length > 0 ? own : connections).some(({ status }) => status === 'active')) return;
  const message = own.length > 0 ? 'needs its SSO connection to be active' : 'needs an active SSO connection';
  throw new DomainError('validation.failed', { details: [{ field: 'require_sso', code: 'no_connection', message }] });
}

const versioned = ({ authenticationPolicy, authenticationPolicyVersion }: Organization): VersionedPolicy => ({
  ...authenticationPolicy,
  version: authenticationPolicyVersion,
});

const isSame = (a: unknown, b: unknown): boolean =>
  Array.isArray(a) && Array.isArray(b) ? String(a.toSorted()) === String(b.toSorted()) : a === b;
