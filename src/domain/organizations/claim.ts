import type { Db } from '../../platform/database/db.js';
import { fittingJson } from '../limits/fitting-json.js';
import { organizationsOf } from './belonging.js';

/** An organization in tokens and userinfo. */
export interface ClaimedOrganization {
  id: string;
  slug: string;
  name: string;
}

/** The claim `organizations`, and whether there are more than it has room for. */
export interface ClaimedOrganizations {
  organizations: readonly ClaimedOrganization[];
  truncated: boolean;
}

/** The most that any answer names; people with more ask the API. */
export const maxClaimed = 100;
/**
 * Bytes of JSON in a token: with everything else, a bearer token must fit the 8 KiB that servers commonly allow for a
 * header.
 */
export const maxClaimedBytes = 3072;

const statement = {
  name: 'organizations_claimed',
  text: `
select n.id, n.slug, n.name from ${organizationsOf('$1', '$2')}
order by n.id is not distinct from $3::uuid desc, n.slug, n.id limit ${maxClaimed + 1}`,
};

/** The active organizations of an Identity: the one of its sign-in first, the others by slug. */
export type OrganizationsClaim = (
  environmentId: string,
  identityId: string,
  organizationId: string | null,
) => Promise<ClaimedOrganizations>;

/** The claim `organizations` (scope `org`, contract §2): at most 100. */
export const createOrganizationsClaim =
  ({ db }: { db: Pick<Db, 'statement'> }): OrganizationsClaim =>
  async (environmentId, identityId, organizationId) => {
    const rows = await db.statement<ClaimedOrganization>(statement, [environmentId, identityId, organizationId]);
    return { organizations: rows.slice(0, maxClaimed), truncated: rows.length > maxClaimed };
  };

/** As many as a token has room for. */
export function fittingToken({ organizations, truncated }: ClaimedOrganizations): ClaimedOrganizations {
  const fitting = fittingJson(organizations, maxClaimedBytes);
  return { organizations: fitting, truncated: truncated || fitting.length < organizations.length };
}

/** Returns the claims by name, with `organizations_truncated` if some are missing. */
export const organizationClaims = ({ organizations, truncated }: ClaimedOrganizations) => ({
  organizations,
  ...(truncated && { organizations_truncated: true }),
});
