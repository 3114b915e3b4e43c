import type { Clock } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import type { Evaluation } from './evaluate.js';
import { notEnded } from './in-force.js';

const heldStatement = {
  name: 'everything_an_identity_holds',
  text: `
select distinct p.key as permission, a.node_id as "nodeId", p.source = 'system' as "isSystem"
from role_assignments a
  join roles r on r.id = a.role_id and r.is_active
  join role_permissions rp on rp.role_id = r.id
  join permissions p on p.id = rp.permission_id
where a.environment_id = $1 and a.identity_id = $2 and ${notEnded('$3')}`,
};

interface Held {
  permission: string;
  nodeId: string;
  isSystem: boolean;
}

/** @throws DomainError identity.holds_more */
export type AssertMayTakeOver = (scope: EnvironmentScope, caller: Caller, identityId: string) => Promise<void>;

/**
 * Who sets somebody's password, moves their address or takes their factors away could sign in as them. That must not be a way
 * around granting (contract §5): an end user has to hold whatever the other one holds, now or later, where they hold it. A key
 * with scopes belongs to an application, whose own permissions it may deal with; of the service's it needs all of theirs.
 */
export const createTakeoverGuard =
  ({ db, evaluation, now }: { db: Pick<Db, 'statement'>; evaluation: Evaluation; now: Clock }): AssertMayTakeOver =>
  async (scope, caller, identityId) => {
    if (caller.type === 'platform_admin' || (caller.type === 'api_key' && caller.accessMode === 'full')) return;
    if (caller.type === 'identity' && caller.identityId === identityId) return;
    const { environmentId } = scope;
    const held = await db.statement<Held>(heldStatement, [environmentId, identityId, now()]);
    if (held.length === 0) return;
    const isCovered =
      caller.type === 'api_key'
        ? held.every(({ permission, isSystem }) => !isSystem || caller.scopes.includes(permission))
        : (
            await evaluation.evaluate(
              environmentId,
              held.map(({ permission, nodeId }) => ({ identityId: caller.identityId, permission, nodeId })),
            )
          ).every(({ allowed }) => allowed);
    if (!isCovered) throw new DomainError('identity.holds_more');
  };
