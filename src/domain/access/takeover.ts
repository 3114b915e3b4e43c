import type { Clock } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import type { Caller } from '../caller.js';
import { covers } from '../capabilities/limits.js';
import { reachOf } from '../capabilities/reach.js';
import { DomainError } from '../errors.js';
import type { Evaluation } from './evaluate.js';
import { notEnded } from './in-force.js';

const heldStatement = {
  name: 'everything_an_identity_holds',
  text: `
select distinct p.key as permission, a.node_id as "nodeId", p.source = 'system' as "isSystem",
  a.environment_id as "environmentId", e.application_id as "applicationId"
from role_assignments a
  join roles r on r.id = a.role_id
  join role_permissions rp on rp.role_id = r.id
  join permissions p on p.id = rp.permission_id
  join environments e on e.id = a.environment_id and e.account_id = a.account_id
where a.account_id = $1 and a.identity_id = $3 and ${notEnded('$4')} and (a.environment_id = $2 or p.source = 'system')`,
};

interface Held {
  permission: string;
  nodeId: string;
  isSystem: boolean;
  environmentId: string;
  applicationId: string;
}

/** @throws DomainError identity.holds_more */
export type AssertMayTakeOver = (scope: EnvironmentScope, caller: Caller, identityId: string) => Promise<void>;

/**
 * Who sets somebody's password, moves their address or takes their factors away could sign in as them, in every Environment of the
 * Account. That must not be a way around granting (contract §5): an end user has to hold whatever the other one holds, now or later
 * (by a role that is switched off as well: it can be switched on again), where they hold it. A key with scopes belongs to an
 * application, whose own permissions it may deal with; of the service's it needs all of theirs. In other Environments it is the
 * service's permissions that count: an end user needs them there as well, an administrator's role has to reach there, and a key with
 * scopes does not (docs/decisions/0017).
 */
export const createTakeoverGuard =
  ({ db, evaluation, now }: { db: Pick<Db, 'statement'>; evaluation: Evaluation; now: Clock }): AssertMayTakeOver =>
  async ({ accountId, environmentId }, caller, identityId) => {
    if (caller.type === 'api_key' && caller.accessMode === 'full') return;
    if (caller.type === 'identity' && caller.identityId === identityId) return;
    const reach = caller.type === 'platform_admin' ? reachOf(caller.roles, 'identities.manage') : undefined;
    if (reach === null) return;
    const held = await db.statement<Held>(heldStatement, [accountId, environmentId, identityId, now()]);

    const isHere = (one: Held) => one.environmentId === environmentId;
    const isCovered = async (): Promise<boolean> => {
      if (caller.type === 'platform_admin')
        return held.every((one) => isHere(one) || (reach !== undefined && covers(reach, one)));
      if (caller.type === 'api_key')
        return held.every((one) => !one.isSystem || (isHere(one) && caller.scopes.includes(one.permission)));
      for (const environment of new Set(held.map((one) => one.environmentId))) {
        const there = held.filter((one) => one.environmentId === environment);
        const asked = there.map(({ permission, nodeId }) => ({ identityId: caller.identityId, permission, nodeId }));
        if (!(await evaluation.evaluate(environment, asked)).every(({ allowed }) => allowed)) return false;
      }
      return true;
    };
    if (!(await isCovered())) throw new DomainError('identity.holds_more');
  };
