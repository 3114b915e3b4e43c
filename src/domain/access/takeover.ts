import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { AdminCaller, Caller, IdentityCaller } from '../caller.js';
import type { Capability } from '../capabilities/administrator-roles.js';
import { reachOf } from '../capabilities/reach.js';
import { covers } from '../capabilities/role-limits.js';
import { DomainError } from '../errors.js';
import { createEvaluation, type Evaluation } from './evaluate.js';
import { notEnded } from './in-force.js';
import type { Permission } from './permissions.js';

const heldStatement = {
  name: 'everything_an_identity_holds',
  text: `
select distinct p.key as permission, a.node_id as "nodeId", p.source = 'system' as "isSystem",
  a.environment_id as "environmentId", e.application_id as "applicationId", n.parent_node_id is null as "isEverywhere"
from role_assignments a
  join roles r on r.id = a.role_id
  join role_permissions rp on rp.role_id = r.id
  join permissions p on p.id = rp.permission_id
  join nodes n on n.id = a.node_id
  join environments e on e.id = a.environment_id and e.account_id = a.account_id
where a.account_id = $1 and a.identity_id = $3 and ${notEnded('$4')} and (a.environment_id = $2 or p.source = 'system')`,
};

interface Held {
  permission: string;
  nodeId: string;
  isSystem: boolean;
  environmentId: string;
  applicationId: string;
  /** In the whole Environment. */
  isEverywhere: boolean;
}

/** The capability that an administrator does the same by. What only reads, and what asks for a decision, takes nobody over. */
const doneBy: Record<string, Capability> = {
  'identity.manage': 'identities.manage',
  'hierarchy.manage': 'env_structure.manage',
  'svc:organization.manage': 'env_organizations.manage',
  'rbac.manage_roles': 'env_roles.manage',
  'rbac.assign_roles': 'env_roles.manage',
  'api_key.manage': 'env_api_keys.manage',
  'webhook.manage': 'env_webhooks.manage',
} satisfies Partial<Record<Permission, Capability>>;

/**
 * What an administrator has to be allowed to do where somebody holds this. What that one does in the whole Environment they have to be able
 * to do as well; an organization's own managers they help like everybody else, which is what a help desk is for.
 */
const askedFor = ({ isSystem, isEverywhere, permission }: Held): Capability =>
  (isSystem && isEverywhere && doneBy[permission]) || 'identities.manage';

const allOfIt = new Set(Object.values(doneBy));

/** Those who may do all of it everywhere need not be looked at any further. */
const mayDoAll = ({ roles }: AdminCaller) => [...allOfIt].every((capability) => reachOf(roles, capability) === null);

/**
 * @param on a transaction of the Account, to be asked there
 * @throws DomainError identity.holds_more; of themselves auth.reauthentication_required
 */
export type AssertMayTakeOver = (
  scope: EnvironmentScope,
  caller: Caller,
  identityId: string,
  on?: Pick<Db, 'statement'>,
) => Promise<void>;

export interface TakeoverDeps {
  db: Pick<Db, 'statement'>;
  evaluation: Evaluation;
  /** What somebody has to have proved to change how they sign in themselves. @throws DomainError auth.reauthentication_required */
  assertRecent(who: EnvironmentScope & IdentityCaller, on: Pick<Db, 'statement'>): Promise<unknown>;
  now: Clock;
}

/**
 * Who sets somebody's password, moves their address or takes their factors away could sign in as them, in every Environment of the
 * Account. That must not be a way around granting (contract §5): an end user has to hold whatever the other one holds, now or later
 * (by a role that is switched off as well: it can be switched on again), where they hold it. A key with scopes belongs to an
 * application, whose own permissions it may deal with; of the service's it needs all of theirs. In other Environments it is the
 * service's permissions that count: an end user needs them there as well, an administrator's role has to reach there, and a key with
 * scopes does not. An administrator needs, besides, what amounts to the service's permissions that somebody holds in a whole
 * Environment (docs/decisions/0017). Of themselves an end user needs what changing it elsewhere needs: a token alone is no proof of who has it.
 */
export const createTakeoverGuard =
  ({ db, evaluation, assertRecent, now }: TakeoverDeps): AssertMayTakeOver =>
  async (scope, caller, identityId, on = db) => {
    const { accountId, environmentId } = scope;
    if (caller.type === 'api_key' && caller.accessMode === 'full') return;
    if (caller.type === 'identity' && caller.identityId === identityId) {
      await assertRecent({ ...scope, ...caller }, on);
      return;
    }
    if (caller.type === 'platform_admin' && mayDoAll(caller)) return;
    const held = await on.statement<Held>(heldStatement, [accountId, environmentId, identityId, now()]);

    const { evaluate } = on === db ? evaluation : createEvaluation({ db: on, now });
    const isHere = (one: Held) => one.environmentId === environmentId;
    const isCovered = async (): Promise<boolean> => {
      if (caller.type === 'platform_admin')
        return held.every((one) => {
          const capability = askedFor(one);
          // That they look after people here was asked before.
          return (isHere(one) && capability === 'identities.manage') || covers(reachOf(caller.roles, capability), one);
        });
      if (caller.type === 'api_key')
        return held.every((one) => !one.isSystem || (isHere(one) && caller.scopes.includes(one.permission)));
      for (const environment of new Set(held.map((one) => one.environmentId))) {
        const there = held.filter((one) => one.environmentId === environment);
        const asked = there.map(({ permission, nodeId }) => ({ identityId: caller.identityId, permission, nodeId }));
        if (!(await evaluate(environment, asked)).every(({ allowed }) => allowed)) return false;
      }
      return true;
    };
    if (!(await isCovered())) throw new DomainError('identity.holds_more');
  };
