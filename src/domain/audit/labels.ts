import type { Db } from '../../platform/database/db.js';
import { isUuid } from '../../platform/uuid.js';
import type { AuditRow } from './rows.js';

/**
 * Adds the present names of people to audit rows. The log, which nobody can change, stores none, so an erased person
 * leaves no name in it. Things mostly have their names in the rows; the name of what a thing belongs to is added, too.
 */
export async function nameThePeople(
  db: Pick<Db, 'statement'>,
  accountId: string,
  rows: AuditRow[],
): Promise<AuditRow[]> {
  const named = rows.map((row) => ({ row, actor: actorOf(row), resource: resourceOf(row) }));
  const names = await namesOf(
    db,
    accountId,
    named.flatMap(({ actor, resource }) => [actor, resource]),
  );
  const nameOf = (one: Named | null) => (one && names.get(`${one.kind} ${one.id}`)) ?? null;
  for (const { row, actor, resource } of named) {
    row.actorLabel ??= row.actorType === 'system' ? 'System' : nameOf(actor);
    row.resourceLabel ??= nameOf(resource);
  }
  return rows;
}

/** In the order of the statement's parameters. */
const kinds = ['identity', 'role', 'environment', 'node', 'user', 'api_key', 'scim_token'] as const;

interface Named {
  kind: (typeof kinds)[number];
  id: string;
}

/** Keys and tokens mostly have their names in the rows themselves, but not where a process acts on their behalf. */
function actorOf({ actorType, actorId, actorLabel }: AuditRow): Named | null {
  if (actorLabel !== null) return null;
  switch (actorType) {
    case 'identity':
    case 'api_key':
    case 'scim_token':
      return namedBy(actorType, actorId);
    case 'platform_admin':
      return namedBy('user', actorId);
    default:
      return null;
  }
}

/** Returns what names a row's resource: the resource itself, or what it belongs to. */
function resourceOf({ resourceType, resourceId, resourceLabel, metadata }: AuditRow): Named | null {
  const { user_id: userId, role_id: roleId } = metadata as { user_id?: unknown; role_id?: unknown };
  if (resourceLabel !== null) return null;
  switch (resourceType) {
    case 'identity':
    case 'environment':
    case 'user':
      return namedBy(resourceType, resourceId);
    case 'node':
    case 'organization':
      return namedBy('node', resourceId);
    case 'environment_settings':
      return namedBy('environment', resourceId);
    case 'member':
      return namedBy('user', userId);
    case 'role_assignment':
      return namedBy('role', roleId);
    default:
      return null;
  }
}

const namedBy = (kind: Named['kind'], id: unknown): Named | null => (isUuid(id) ? { kind, id } : null);

const person = `coalesce(nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), ''), email::text)`;

/** Ids are in the order of `kinds`. Users who have left the Account are named, too, since they acted in it. */
const namesStatement = {
  name: 'names_of_audit_rows',
  text: `
select 'identity ' || id as key, ${person} as name from identities where account_id = $1 and id = any($2::uuid[])
union all select 'role ' || id, name from roles where account_id = $1 and id = any($3::uuid[])
union all select 'environment ' || id, name from environments where account_id = $1 and id = any($4::uuid[])
union all select 'node ' || id, name from nodes where account_id = $1 and id = any($5::uuid[])
union all select 'user ' || id, ${person} from users where id = any($6::uuid[])
union all select 'api_key ' || id, name from api_keys where account_id = $1 and id = any($7::uuid[])
union all select 'scim_token ' || id, name from scim_tokens where account_id = $1 and id = any($8::uuid[])`,
};

async function namesOf(
  db: Pick<Db, 'statement'>,
  accountId: string,
  named: readonly (Named | null)[],
): Promise<Map<string, string>> {
  const ids = kinds.map((kind) => [...new Set(named.flatMap((one) => (one?.kind === kind ? [one.id] : [])))]);
  if (ids.every(({ length }) => length === 0)) return new Map();
  const values = [accountId, ...ids];
  const found = await db.statement<{ key: string; name: string }>(namesStatement, values);
  return new Map(found.map(({ key, name }) => [key, name]));
}
