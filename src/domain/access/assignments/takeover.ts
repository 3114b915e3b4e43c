import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { AdminCaller, Caller, IdentityCaller } from '../../caller.js';
import type { Capability } from '../../capabilities/administrator-roles.js';
import { reachOf } from '../../capabilities/reach.js';
import { covers } from '../../capabilities/role-limits.js';
import { DomainError } from '../../errors.js';
import { createEvaluation, type Evaluation } from '../decisions/evaluate.js';
import { notEnded } from '../decisions/in-force.js';
import type { Permission } from '../roles/permissions.js';
import { mapsGroup } from './mapped-groups.js';

const heldStatement = {
  name: 'everything_an_identity_holds_or_is_offered',
  text: `
with held as (
  select a.role_id, a.node_id, a.environment_id from role_assignments a
  where a.account_id = $1 and a.identity_id = $3 and ${notEnded('$4')}
  union
  select unnest(i.role_ids), i.node_id, i.environment_id from identities person
    join identity_invites i on i.id in (select gatehouse_waiting_invites($1, person.email)) and i.expires_at > $4
  where person.account_id = $1 and person.id = $3
  union
  select m.role_id, m.node_id, m.environment_id from environment_memberships joined
    join scim_group_members gm on gm.environment_id = joined.environment_id and gm.identity_id = joined.identity_id
    join scim_groups g on g.id = gm.group_id
    join scim_group_mappings m on ${mapsGroup('m', 'g')}
  where joined.account_id = $1 and joined.identity_id = $3
)
select distinct p.key as permission, n.id as "nodeId", p.source = 'system' as "isSystem",
  e.id as "environmentId", e.application_id as "applicationId", n.parent_node_id is null as "isEverywhere"
from held
  join role_permissions rp on rp.role_id = held.role_id
  join permissions p on p.id = rp.permission_id
  join nodes n on n.id = held.node_id
  join environments e on e.id = held.environment_id and e.account_id = $1
where e.id = $2 or p.source = 'system'`,
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

/**
 * The capability with which an administrator can do the same. Permissions that only read, or ask for a decision, are
 * left out: they are no reason to take somebody over.
 */
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
 * The capability that an administrator needs where the person holds this. For a permission in the whole Environment it
 * is the one to do the same. For one further down, as an organization's managers hold, looking after people is enough:
 * that is what a help desk is for.
 */
const askedFor = ({ isSystem, isEverywhere, permission }: Held): Capability =>
  (isSystem && isEverywhere && doneBy[permission]) || 'identities.manage';

const allOfIt = new Set(Object.values(doneBy));

/** Whether an administrator may do all of that everywhere, so that nothing has to be looked up. */
const mayDoAll = ({ roles }: AdminCaller) => [...allOfIt].every((capability) => reachOf(roles, capability) === null);

/**
 * @param on a transaction of the Account to ask on
 * @throws DomainError identity.holds_more; for changing oneself auth.reauthentication_required
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
  /**
   * Checks that somebody has proved recently who they are, before they change how they sign in.
   * @throws DomainError auth.reauthentication_required
   */
  assertRecent(who: EnvironmentScope & IdentityCaller, on: Pick<Db, 'statement'>): Promise<unknown>;
  now: Clock;
}

/**
 * A caller who sets a person's password, changes their address or removes their factors could sign in as them, in every
 * Environment of the Account. That must not be a way around granting (contract §5, docs/decisions/0017). So the caller
 * needs what the person holds, now or later: also by roles that are switched off, since they can be switched on again,
 * by pending invites, since their link asks for no password, and by groups of a directory, which grant again what was
 * removed by hand:
 * - An end user has to hold the same, where the person holds it; in other Environments the service's own permissions
 *   count. To change themselves they need a recent sign-in, since a token alone is no proof of who has it.
 * - A key with scopes has to hold the service's permissions that the person holds in its Environment, and changes
 *   nobody who holds one in another. It belongs to an application, whose own permissions it may deal with.
 * - An administrator's roles have to reach the Environments where the person holds one of the service's permissions,
 *   and have to allow what amounts to those that they hold in a whole Environment.
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
          // That they may look after people here was checked before.
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
