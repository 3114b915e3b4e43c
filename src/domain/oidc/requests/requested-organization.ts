import type { AuthenticationPolicy } from '../../../../entities/organization.js';
import type { Db } from '../../../platform/database/db.js';
import { isUuid } from '../../../platform/uuid.js';
import { isActive } from '../../hierarchy/active.js';
import type { SignInPolicy } from '../../organizations/sign-in-policy.js';
import { OAuthError } from '../oauth-error.js';

/** The organization that a sign-in is for, and what it requires of its members. */
export interface RequestedOrganization {
  id: string;
  name: string;
  policy: Pick<SignInPolicy, 'allows' | 'requireSso'>;
  /** Its active SSO connection. */
  connectionId: string | null;
  /** Whether it has a connection of its own, in any state; otherwise it uses those of the Environment. */
  hasConnection: boolean;
}

const maxSlugLength = 100;

const found = (by: string) => `
select n.id, n.name, o.authentication_policy as policy,
  (select id from sso_connections where organization_id = n.id and status = 'active') as "connectionId",
  exists (select from sso_connections where organization_id = n.id) as "hasConnection"
from (select id, name, path from nodes where ${by} and environment_id = $1 and node_type = 'organization' offset 0) n
  cross join lateral (select authentication_policy from organizations where id = n.id offset 0) o
where ${isActive('n.path')}
limit 2`;
const byId = { name: 'requested_organization_by_id', text: found('id = $2') };
const bySlug = { name: 'requested_organization_by_slug', text: found('slug = $2') };

/**
 * The active organization that the parameter `organization` names, by id or slug.
 * @throws OAuthError invalid_request if it names none, or several: a slug is only unique under its parent
 */
export type RequestedOrganizations = (environmentId: string, idOrSlug: string) => Promise<RequestedOrganization>;

export const createRequestedOrganizations =
  ({ db }: { db: Pick<Db, 'statement'> }): RequestedOrganizations =>
  async (environmentId, idOrSlug) => {
    if (idOrSlug.length > maxSlugLength) throw unknown();
    const statement = isUuid(idOrSlug) ? byId : bySlug;
    const rows = await db.statement<FoundRow>(statement, [environmentId, idOrSlug]);
    const [row, another] = rows;
    if (!row) throw unknown();
    if (another) throw new OAuthError('invalid_request', 'several organizations have this slug; send the ID instead');
    return { ...row, policy: policyIn(row.policy) };
  };

interface FoundRow extends Omit<RequestedOrganization, 'policy'> {
  policy: AuthenticationPolicy;
}

const unknown = () => new OAuthError('invalid_request', 'organization is unknown');

const policyIn = ({ allowed_methods: allowed, require_sso: requireSso }: AuthenticationPolicy) => {
  const allows = (method: keyof SignInPolicy['allows']) => allowed === null || allowed.includes(method);
  return {
    allows: {
      password: allows('password'),
      email_otp: allows('email_otp'),
      passkey: allows('passkey'),
      sso: allows('sso'),
    },
    requireSso,
  };
};
