import type { EntityManager } from 'typeorm';
import type { AuditRow } from './rows.js';

/**
 * Gives people in audit rows the names that they have now: whoever is erased leaves no name in the log, which nobody can
 * change. Rows of things mostly carry their own; what something of a name belongs to is looked up too.
 */
export async function nameThePeople(tx: EntityManager, accountId: string, rows: AuditRow[]): Promise<AuditRow[]> {
  const named = rows.flatMap((row) => [actorOf(row), resourceOf(row)]).filter((one) => one !== null);
  const names = await namesOf(tx, accountId, named);
  const nameOf = (one: Named | null) => (one && names.get(`${one.kind} ${one.id}`)) ?? null;
  return rows.map((row) => ({
    ...row,
    actorLabel: row.actorLabel ?? (row.actorType === 'system' ? 'System' : nameOf(actorOf(row))),
    resourceLabel: row.resourceLabel ?? nameOf(resourceOf(row)),
  }));
}

interface Named {
  kind: 'environment' | 'identity' | 'node' | 'role' | 'user';
  id: string;
}

const actorOf = ({ actorType, actorId }: AuditRow): Named | null =>
  actorType === 'identity'
    ? namedBy('identity', actorId)
    : actorType === 'platform_admin'
      ? namedBy('user', actorId)
      : null;

/** Whose name a row's resource has: its own, or that of what it belongs to. */
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

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const namedBy = (kind: Named['kind'], id: unknown): Named | null =>
  typeof id === 'string' && uuid.test(id) ? { kind, id } : null;

const person = `coalesce(nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), ''), email::text)`;

async function namesOf(tx: EntityManager, accountId: string, named: Named[]): Promise<Map<string, string>> {
  if (named.length === 0) return new Map();
  const idsOf = (kind: Named['kind']) => [...new Set(named.flatMap((one) => (one.kind === kind ? [one.id] : [])))];
  // Users who have left the Account are named too: that they acted in it is what the rows say.
  const found = await tx.query<{ key: string; name: string }[]>(
    `select 'identity ' || id as key, ${person} as name from identities where account_id = $1 and id = any($2::uuid[])
     union all select 'role ' || id, name from roles where account_id = $1 and id = any($3::uuid[])
     union all select 'environment ' || id, name from environments where account_id = $1 and id = any($4::uuid[])
     union all select 'node ' || id, name from nodes where account_id = $1 and id = any($5::uuid[])
     union all select 'user ' || id, ${person} from users where id = any($6::uuid[])`,
    [accountId, idsOf('identity'), idsOf('role'), idsOf('environment'), idsOf('node'), idsOf('user')],
  );
  return new Map(found.map(({ key, name }) => [key, name]));
}
