import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { fittingJson } from '../../limits/fitting-json.js';
import { inForce } from './in-force.js';

const statement = {
  name: 'permissions_at_root',
  text: `
select distinct p.key
from nodes n
  join role_assignments a on a.node_id = n.id and a.identity_id = $2 and a.environment_id = $1
  join roles r on r.id = a.role_id and r.is_active
  join role_permissions rp on rp.role_id = r.id
  join permissions p on p.id = rp.permission_id
where n.environment_id = $1 and n.parent_node_id is null and n.status = 'active' and ${inForce('$3')}
order by p.key`,
};

/** The claim `permissions`, and whether there are more than it has room for. */
export interface ClaimedPermissions {
  permissions: readonly string[];
  truncated: boolean;
}

/**
 * Bytes of JSON that permissions and organizations may take in a token together: whatever somebody holds, a bearer
 * token must fit the 8 KiB that servers commonly allow for a header. Organizations go first (`maxClaimedBytes`).
 */
const maxClaimedBytesTogether = 4608;

/** The keys that an Identity holds at the Environment's root. */
export type RootPermissions = (environmentId: string, identityId: string) => Promise<string[]>;

/** The claim `permissions` (contract §2): a hint for clients; the service itself never decides by it. */
export const createRootPermissions =
  ({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }): RootPermissions =>
  async (environmentId, identityId) =>
    (await db.statement<{ key: string }>(statement, [environmentId, identityId, now()])).map(({ key }) => key);

/** As many as a token has room for, of which organizations take `taken` bytes. */
export function fittingBeside(taken: number, held: readonly string[]): ClaimedPermissions {
  const permissions = fittingJson(held, maxClaimedBytesTogether - taken);
  return { permissions, truncated: permissions.length < held.length };
}

/** Returns the claims by name, with `permissions_truncated` if some are missing. */
export const permissionClaims = ({ permissions, truncated }: ClaimedPermissions) => ({
  permissions,
  ...(truncated && { permissions_truncated: true }),
});
