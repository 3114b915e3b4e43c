import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError, type ErrorDetail, maxNamed } from '../errors.js';
import { type LoginMethod, type MethodSettings, methodsOf } from './login-methods.js';

const fieldOf: Record<LoginMethod, string> = {
  password: 'password_login_enabled',
  email_otp: 'email_otp_login_enabled',
  passkey: 'passkey_login_enabled',
};

/**
 * Checks, if sign-in methods are disabled, that people can still sign in: new ones, and the members of every
 * organization. It stays so until the commit, since changes of an organization's policy wait for the settings' row.
 * @throws DomainError validation.failed
 */
export async function assertLoginMethodsLeft(
  tx: EntityManager,
  scope: EnvironmentScope,
  [before, after]: readonly [MethodSettings, MethodSettings],
): Promise<void> {
  const left = methodsOf(after);
  const gone = methodsOf(before).filter((method) => !left.includes(method));
  if (gone.length === 0) return;
  const findings = [...(await lackingProvider(tx, scope, left)), ...(await lockedOut(tx, scope, left))];
  const details = findings.flatMap(({ methods, ...finding }) => {
    const missed = gone.filter((method) => methods.includes(method));
    return (missed.length > 0 ? missed : gone).map((method) => ({ field: fieldOf[method], ...finding }));
  });
  if (details.length > 0) throw new DomainError('validation.failed', { details });
}

interface Finding extends Omit<ErrorDetail, 'field'> {
  /** The methods of which one would be enough. */
  methods: readonly string[];
}

/** Passkeys do not count here: a person can enroll one only after signing in by another method. */
async function lackingProvider(
  tx: EntityManager,
  scope: EnvironmentScope,
  left: readonly LoginMethod[],
): Promise<Finding[]> {
  if (left.includes('password') || left.includes('email_otp')) return [];
  if (await tx.existsBy(SsoConnection, { ...within(scope), status: 'active' })) return [];
  const message = 'requires passwords, emailed codes or an active SSO connection; without them, nobody new can sign in';
  return [{ code: 'no_way_in', message, methods: ['password', 'email_otp'] }];
}

async function lockedOut(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  left: readonly LoginMethod[],
): Promise<Finding[]> {
  const organizations = await tx.query<{ id: string; name: string; methods: string[] }[]>(
    `select o.id, n.name, o.authentication_policy->'allowed_methods' as methods from organizations o join nodes n on n.id = o.id
     where o.account_id = $1 and o.environment_id = $2 and jsonb_typeof(o.authentication_policy->'allowed_methods') = 'array'
       and o.authentication_policy->'allowed_methods' <> '[]'
       and not o.authentication_policy->'allowed_methods' ?| $3::text[]
     order by o.id limit $4`,
    [accountId, environmentId, [...left, 'sso'], maxNamed],
  );
  return organizations.map(({ id, name, methods }) => ({
    code: 'only_way_of_organization',
    message: `organization "${name}" (${id}) allows no other method that would be left`,
    methods,
  }));
}
