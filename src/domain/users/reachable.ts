import type { Db } from '../../platform/database/db.js';
import { isSsoOnly } from './own-provider.js';

export interface Named {
  id: string;
  name: string;
  slug: string;
}

/** An Account, and whether its administrators need a second factor. */
export interface NamedAccount extends Named {
  requireMfa: boolean;
}

/** An Account of a user and an Application that their roles reach there; null if they reach none in that Account. */
export interface Reachable {
  account: NamedAccount;
  application: Named | null;
  /** Whether the Account admits them only by a sign-in through its own identity provider. */
  ssoOnly: boolean;
}

interface Row {
  account_id: string;
  account_name: string;
  account_slug: string;
  account_require_mfa: boolean;
  sso_only: boolean;
  application_id: string | null;
  application_name: string;
  application_slug: string;
}

/** SQL: the nodes that limits name, as `n`; append conditions with `and`. */
export const nodesIn = (limits: string): string => `from jsonb_array_elements_text(${limits}->'node_ids') named (id)
        join nodes n on n.id = named.id::uuid where true`;

/** SQL: whether a role of membership `m` reaches Application `p`, or an Environment or a node in it. */
export const reaches = (m: string, p: string): string => `exists (
  select from membership_roles mr where mr.membership_id = ${m}.id and (mr.limits is null
    or mr.limits->'application_ids' ? ${p}.id::text
    or exists (select from environments e where e.application_id = ${p}.id and mr.limits->'environment_ids' ? e.id::text)
    or exists (select ${nodesIn('mr.limits')} and n.application_id = ${p}.id)))`;

const statement = {
  name: 'applications_within_nodes_with_sso',
  text: `select a.id as account_id, a.name as account_name, a.slug as account_slug, a.require_mfa as account_require_mfa,
  ${isSsoOnly('m', 'a')} as sso_only,
  p.id as application_id, p.name as application_name, p.slug as application_slug
from memberships m
join accounts a on a.id = m.account_id
left join applications p on p.account_id = a.id and ${reaches('m', 'p')}
where m.user_id = $1
order by a.name, a.id, p.name, p.id`,
};

/** Returns every Account and Application that a platform admin can bind a session to. */
export async function reachableOf(db: Pick<Db, 'statement'>, userId: string): Promise<Reachable[]> {
  const rows = await db.statement<Row>(statement, [userId]);
  return rows.map((row) => ({
    account: {
      id: row.account_id,
      name: row.account_name,
      slug: row.account_slug,
      requireMfa: row.account_require_mfa,
    },
    application: row.application_id && {
      id: row.application_id,
      name: row.application_name,
      slug: row.application_slug,
    },
    ssoOnly: row.sso_only,
  })) as Reachable[];
}

/** What a session is bound to: nothing, for a user without an Account. */
export interface Binding {
  account: NamedAccount | null;
  application: Named | null;
}
export const unbound: Binding = { account: null, application: null };
