import type { AdministratorRoleKey } from '../../../entities/administrator-role.js';
import type { Db } from '../../platform/database/db.js';
import type { AdminSubject } from './admin-tokens.js';
import { needsOwnProvider } from './own-provider.js';
import { type Binding, type NamedAccount, reaches } from './reachable.js';

/** An Account of the user, and what it requires of them. */
interface AdministeredAccount extends NamedAccount {
  requireSso: boolean;
  /** Whether it is closed to the session because of that. */
  ssoRequired: boolean;
}

export interface Profile extends Binding {
  user: { id: string; email: string; firstName: string; lastName: string; emailVerified: boolean; createdAt: Date };
  /** How the session was proved. */
  session: { amr: string[]; acr: string; authenticatedAt: Date };
  accounts: (AdministeredAccount & {
    roles: { role_id: string; name: string; system_key: AdministratorRoleKey | null }[];
  })[];
}

const named = (alias: string, more = '') =>
  `json_build_object('id', ${alias}.id, 'name', ${alias}.name, 'slug', ${alias}.slug${more})`;
const namedAccount = (alias: string) => named(alias, `, 'requireMfa', ${alias}.require_mfa`);

const statement = {
  name: 'admin_profile_with_sso',
  text: `
select json_build_object('id', u.id, 'email', u.email::text, 'firstName', u.first_name, 'lastName', u.last_name,
    'emailVerified', u.email_verified_at is not null) as "user",
  u.created_at as "createdAt", s.amr, s.acr, s.authenticated_at as "authenticatedAt",
  case when bound.id is not null then ${namedAccount('bound')} end as account,
  case when p.id is not null then ${named('p')} end as application,
  coalesce((
    select json_agg(json_build_object('id', a.id, 'name', a.name, 'slug', a.slug, 'requireMfa', a.require_mfa,
      'requireSso', a.require_sso, 'ssoRequired', ${needsOwnProvider('m', 'a', 's.sso_connection_id')}, 'roles', coalesce((
      select json_agg(json_build_object('role_id', r.id, 'name', r.name, 'system_key', r.system_key) order by r.name)
      from membership_roles mr join administrator_roles r on r.id = mr.role_id where mr.membership_id = m.id), '[]')
    ) order by a.name, a.id)
    from memberships m join accounts a on a.id = m.account_id where m.user_id = u.id), '[]') as accounts
from users u
join user_sessions s on s.id = $1 and s.user_id = u.id
left join memberships bound_by on bound_by.account_id = s.account_id and bound_by.user_id = u.id
left join accounts bound on bound.id = bound_by.account_id and not ${needsOwnProvider('bound_by', 'bound', 's.sso_connection_id')}
left join applications p on p.id = s.application_id and p.account_id = bound.id and ${reaches('bound_by', 'p')}
where u.id = $2`,
};

/** Returns the signed-in user, the Accounts that they are a member of, and what the session is bound to. */
export async function profileOf(db: Pick<Db, 'statement'>, subject: AdminSubject): Promise<Profile | null> {
  type Row = Omit<Profile, 'session'> & Profile['session'] & { createdAt: Date };
  const [row] = await db.statement<Row>(statement, [subject.sessionId, subject.userId]);
  if (!row) return null;
  const { createdAt, user, amr, acr, authenticatedAt, ...rest } = row;
  return { ...rest, session: { amr, acr, authenticatedAt }, user: { ...user, createdAt } };
}
