import type { EntityManager } from 'typeorm';
import { type Branding, EnvironmentSettings, factorKinds } from '../../../entities/environment-settings.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { announceCredentials, type CachesCredentials } from '../cached-credentials.js';
import { becameOf, changedFields } from '../changed-fields.js';
import { DomainError, invalidField } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { assertFitsAccessModel } from '../hierarchy/access-model.js';
import { inDeclaredOrder } from '../lists/declared-order.js';
import type { MfaGraces } from '../mfa/grace/grace.js';
import { assertOrigins } from './allowed-origins.js';
import { lackingFactorToEnroll } from './factor-to-enroll.js';
import { assertLoginMethodsLeft } from './login-methods-left.js';

/** What an administrator can change; the other columns are owner and version. */
export type ChangeableSettings = Omit<
  EnvironmentSettings,
  'environmentId' | 'accountId' | 'version' | 'updatedAt' | 'branding'
> & {
  branding: Partial<Branding>;
};

export interface EnvironmentSettingsService {
  get(scope: EnvironmentScope): Promise<EnvironmentSettings>;
  /** @throws DomainError sso_connection.not_found, version.conflict with the present settings, validation.failed */
  update(scope: EnvironmentScope, version: number, changes: Partial<ChangeableSettings>): Promise<EnvironmentSettings>;
}

export function createEnvironmentSettings({
  db,
  graces,
  hasCaptcha,
  now,
  ...caches
}: CachesCredentials & {
  db: Db;
  graces: Pick<MfaGraces, 'policyChanged'>;
  /** Whether this installation has a captcha service. */
  hasCaptcha: boolean;
  now: Clock;
}): EnvironmentSettingsService {
  return {
    get: (scope) => db.transaction(scope, (tx) => tx.findOneByOrFail(EnvironmentSettings, within(scope))),
    update: (scope, version, given) =>
      db.transaction(scope, async (tx) => {
        const current = await tx.findOneOrFail(EnvironmentSettings, {
          where: within(scope),
          lock: { mode: 'pessimistic_write' },
        });
        if (current.version !== version) throw new DomainError('version.conflict', { current });
        const { mfaAllowedFactors: factors } = given;
        const changes = { ...given, ...(factors && { mfaAllowedFactors: inDeclaredOrder(factorKinds, factors) }) };
        const before = { ...current, mfaAllowedFactors: inDeclaredOrder(factorKinds, current.mfaAllowedFactors) };
        const branding = { ...current.branding, ...changes.branding };
        const changed = changedFields(before, { ...changes, ...(changes.branding && { branding }) });
        if (changed.length === 0) return current;
        const updated = tx.create(EnvironmentSettings, {
          ...current,
          ...changes,
          branding,
          version: version + 1,
          updatedAt: now(),
        });
        assertFactorToEnroll(updated);
        assertOrigins(current.allowedOrigins, updated.allowedOrigins);
        if (!hasCaptcha) assertNoCaptcha(current, changes);
        const { defaultSsoConnectionId: byDefault } = updated;
        // One that has switched itself off stays the default, and does not block changes of other settings.
        if (byDefault !== null && byDefault !== current.defaultSsoConnectionId)
          await assertUsable(tx, scope, byDefault);
        if (updated.accessModel !== current.accessModel) await assertFitsAccessModel(tx, scope, updated.accessModel);
        await assertLoginMethodsLeft(tx, scope, [current, updated]);
        if (changes.mfaAllowedFactors !== undefined) await assertFactorOfOrganizations(tx, scope, updated);
        await tx.update(EnvironmentSettings, within(scope), updated);
        await announceCredentials(tx, caches);
        if (changes.mfaPolicy !== undefined || changes.mfaGracePeriodDays !== undefined) {
          const { mfaPolicy, mfaGracePeriodDays: days } = updated;
          await graces.policyChanged(tx, scope, { required: mfaPolicy === 'required', days });
        }
        await recordEvent(tx, 'environment.settings_updated', {
          ...scope,
          resourceId: scope.environmentId,
          metadata: { changed, became: becameOf(updated, changed), version: updated.version },
        });
        return updated;
      }),
  };
}

function assertFactorToEnroll({ mfaPolicy, mfaAllowedFactors }: EnvironmentSettings) {
  if (mfaPolicy !== 'required' || !lackingFactorToEnroll(mfaAllowedFactors)) return;
  throw invalidField(
    'mfa_allowed_factors',
    'too_few',
    'Requiring MFA needs totp or webauthn among the allowed factors',
  );
}

/** Refuses to require a captcha that is not configured: nobody could solve it, so nobody could sign in. */
function assertNoCaptcha(current: EnvironmentSettings, changes: Partial<ChangeableSettings>) {
  const why = 'needs keys of a captcha service (TURNSTILE_SITE_KEY), which this installation does not have';
  for (const [name, field] of [
    ['loginRequireCaptcha', 'login_require_captcha'],
    ['selfSignupRequireCaptcha', 'self_signup_require_captcha'],
  ] as const) {
    if (changes[name] && !current[name]) throw invalidField(field, 'not_configured', why);
  }
}

/** Checks that everybody can sign in by the connection that everybody is sent to. It stays locked until the commit. */
async function assertUsable(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<void> {
  const where = { ...within(scope), id };
  const connection = await tx.findOne(SsoConnection, { where, lock: { mode: 'pessimistic_read' } });
  if (!connection) throw new DomainError('sso_connection.not_found');
  const field = 'default_sso_connection_id';
  if (connection.scope !== 'identity')
    throw invalidField(field, 'not_of_environment', 'is a connection of an organization');
  if (connection.status !== 'active') throw invalidField(field, 'not_active', 'is not active');
}

/**
 * Without a factor to enroll, sign-ins continue without one, and requiring MFA for an organization would have no
 * effect.
 */
async function assertFactorOfOrganizations(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { mfaAllowedFactors }: EnvironmentSettings,
): Promise<void> {
  if (!lackingFactorToEnroll(mfaAllowedFactors)) return;
  const requiring = await tx.query<unknown[]>(
    `select from organizations where account_id = $1 and environment_id = $2
       and (authentication_policy->>'require_mfa')::boolean limit 1`,
    [accountId, environmentId],
  );
  if (requiring.length === 0) return;
  throw invalidField(
    'mfa_allowed_factors',
    'too_few',
    'An organization requires MFA, which needs totp or webauthn among the allowed factors',
  );
}
