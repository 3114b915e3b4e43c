import type { EntityManager } from 'typeorm';
import { type PasswordRule, passwordLength } from './passwords.js';

export type RuleOfEnvironment = Pick<PasswordRule, 'minLength' | 'context'>;

/**
 * An Environment's rules for a password, read in the scope of its Account.
 * @param identityId whose password it will be, if they exist already: their names and address are part of its context
 */
export async function environmentRule(
  tx: EntityManager,
  { environmentId }: { environmentId: string },
  identityId: string | null = null,
): Promise<RuleOfEnvironment> {
  const [rule] = await tx.query<RuleOfEnvironment[]>(
    `select s.password_min_length as "minLength",
       array[a.name, p.name, s.branding->>'name', i.email::text, i.first_name, i.last_name] as context
     from environment_settings s
       join environments e on e.id = s.environment_id
       join accounts a on a.id = e.account_id
       join applications p on p.id = e.application_id
       left join environment_memberships m on m.environment_id = e.id and m.identity_id = $2
       left join identities i on i.id = m.identity_id
     where s.environment_id = $1`,
    [environmentId, identityId],
  );
  // The Environment is being deleted, as the caller will find out.
  return rule ?? { minLength: passwordLength.min, context: [] };
}

/** The context of an administrator's password: their names and address, and the Accounts that they administer. */
export async function contextOfUser(tx: EntityManager, userId: string): Promise<(string | null)[]> {
  const [found] = await tx.query<{ context: (string | null)[] }[]>(
    `select array[u.email::text, u.first_name, u.last_name] || array(
       select a.name from memberships m join accounts a on a.id = m.account_id where m.user_id = u.id) as context
     from users u where u.id = $1`,
    [userId],
  );
  return found?.context ?? [];
}
