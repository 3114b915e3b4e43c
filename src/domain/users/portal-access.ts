import type { AdministratorRoleKey } from '../../../entities/administrator-role.js';
import type { RoleLimits } from '../../../entities/membership-role.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { isStorable } from '../../platform/database/storable.js';
import { needsOtherSignIn } from '../admin-mfa/other-sign-in.js';
import { type Capability, capabilitiesOf } from '../capabilities/administrator-roles.js';
import type { RoleInAccount } from '../capabilities/reach.js';
import { covers, type Place } from '../capabilities/role-limits.js';
import { capabilitiesAt } from '../capabilities/roles-authority.js';
import { aal2 } from '../sessions/first-factor.js';
import type { AdminSubject } from './admin-tokens.js';
import { needsOwnProvider } from './own-provider.js';
import { nodesIn } from './reachable.js';

export interface PortalPath {
  accountSlug: string;
  appSlug?: string;
  envSlug?: string;
}

/** A member's access to an Account, and the part of the path that exists there for them. */
export interface PortalAccess {
  accountId: string;
  membershipId: string;
  /** What the member has to do before the Account lets them do anything; null if nothing. */
  owes: 'other_sign_in' | 'sso' | 'enrollment' | 'challenge' | null;
  /** Null if the path names none, one that does not exist, or one that no role of the member reaches. */
  applicationId: string | null;
  environmentId: string | null;
  roles: RoleInAccount[];
  /**
   * What the roles allow together at the end of the path: roles without limits, and roles whose limits cover it. If the
   * path leads nowhere, everything that any role allows, so that the answer is 404 and not a 403 that reveals
   * something.
   */
  capabilities: Capability[];
  /** `capabilities`, and those of roles that apply only in a part of the place. */
  capabilitiesInPart: Capability[];
}

export interface PortalAccesses {
  /** Whether the token's session is alive and its user still exists. */
  isAlive(subject: AdminSubject): Promise<boolean>;
  /** Returns `dead` if the session is not alive; null if the user is not a member of such an Account. */
  find(subject: AdminSubject, path: PortalPath): Promise<PortalAccess | 'dead' | null>;
}

const alive = `from user_sessions s where s.id = $1 and s.user_id = $2 and s.revoked_at is null and s.expires_at > $3`;
const aliveStatement = { name: 'alive_user_session', text: `select s.id ${alive}` };

// A member who owes something is refused every request. What the Account does not require is not looked up.
const owes = `case when m.id is null then null
  when ${needsOtherSignIn('session', 'm.account_id')} then 'other_sign_in'
  when ${needsOwnProvider('m', 'a', 'session.sso_connection_id')} then 'sso'
  when not a.require_mfa or session.acr = '${aal2}' then null
  when exists (select from user_mfa_factors f where f.user_id = session.user_id) then 'challenge' else 'enrollment' end`;

// One round trip for session, membership, path and roles, since it runs at every call of the Portal. A role with limits
// leads through an Application where it reaches an Environment or a node, and through an Environment where it reaches a
// node.
const findStatement = {
  name: 'portal_access_with_sso',
  text: `select m.id as membership_id, ${owes} as owes, m.account_id, p.id as application_id, e.id as environment_id, coalesce(r.roles, '[]') as roles
from (select s.user_id, s.account_id, s.acr, s.sso_connection_id ${alive}) session
left join accounts a on a.slug = $4
left join memberships m on m.account_id = a.id and m.user_id = session.user_id
left join applications p on p.account_id = m.account_id and p.slug = $5
left join environments e on e.application_id = p.id and e.slug = $6
left join lateral (
  select json_agg(json_build_object('id', r.id, 'name', r.name, 'systemKey', r.system_key, 'capabilities', r.capabilities,
    'limits', mr.limits, 'leadsThroughApplication', case when mr.limits is null or p.id is null then false else exists (
      select from environments inside where inside.application_id = p.id and mr.limits->'environment_ids' ? inside.id::text)
      or exists (select ${nodesIn('mr.limits')} and n.application_id = p.id) end,
    'leadsThroughEnvironment', case when mr.limits is null or e.id is null then false else
      exists (select ${nodesIn('mr.limits')} and n.environment_id = e.id) end
    ) order by r.name) as roles
  from membership_roles mr join administrator_roles r on r.id = mr.role_id
  where mr.membership_id = m.id
) r on true`,
};

interface Row {
  membership_id: string | null;
  owes: PortalAccess['owes'];
  account_id: string;
  application_id: string | null;
  environment_id: string | null;
  roles: {
    id: string;
    name: string;
    systemKey: AdministratorRoleKey | null;
    capabilities: string[];
    limits: RoleLimits | null;
    leadsThroughApplication: boolean;
    leadsThroughEnvironment: boolean;
  }[];
}

/** Decides who may do what in the Portal. Reads the database at every call, so that any change applies at once. */
export function createPortalAccesses({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }): PortalAccesses {
  return {
    async isAlive({ sessionId, userId }) {
      return (await db.statement(aliveStatement, [sessionId, userId, now()])).length > 0;
    },
    async find({ sessionId, userId }, { accountSlug, appSlug, envSlug }) {
      const slugs = [accountSlug, appSlug, envSlug].map(lookedUp);
      const values = [sessionId, userId, now(), ...slugs];
      const [row] = await db.statement<Row>(findStatement, values);
      if (!row) return 'dead';
      if (!row.membership_id) return null;
      const { roles } = row;
      const place = reachedBy(row);
      const leadsNowhere = (appSlug && !place.applicationId) || (envSlug && !place.environmentId);
      return {
        accountId: row.account_id,
        membershipId: row.membership_id,
        owes: row.owes,
        applicationId: place.applicationId ?? null,
        environmentId: place.environmentId ?? null,
        roles: roles.map((role) => ({
          id: role.id,
          name: role.name,
          capabilities: capabilitiesOf([role]),
          limits: role.limits,
        })),
        capabilities: leadsNowhere ? capabilitiesOf(roles) : capabilitiesAt(roles, place),
        capabilitiesInPart: capabilitiesOf(leadsNowhere ? roles : roles.filter((role) => countsIn(role, place))),
      };
    },
  };
}

/** PostgreSQL refuses the whole statement for a slug with NUL (`%00`), which nothing has: then none is looked up. */
const lookedUp = (slug: string | undefined): string | null => (slug !== undefined && isStorable(slug) ? slug : null);

/** Returns the part of the path that exists for the holder of these roles. */
function reachedBy({ application_id: applicationId, environment_id: environmentId, roles }: Row): Place {
  const place = { applicationId, environmentId };
  if (environmentId && roles.some((role) => countsIn(role, place))) return place;
  const application = { applicationId, environmentId: null };
  return applicationId && roles.some((role) => countsIn(role, application)) ? application : {};
}

/** Whether a role applies at a place or in a part of it. Every role applies somewhere in the Account. */
const countsIn = (
  { limits, leadsThroughApplication, leadsThroughEnvironment }: Row['roles'][number],
  place: Place,
): boolean =>
  !place.applicationId ||
  covers(limits, place) ||
  (place.environmentId ? leadsThroughEnvironment : leadsThroughApplication);
