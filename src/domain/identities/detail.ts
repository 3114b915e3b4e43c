import type { Identity } from '../../../entities/identity.js';
import type { RunsStatement, Statement } from '../../platform/database/db.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type AssignedRole, type RolesInJson, rolesInJson, rolesOfOne } from '../access/assignments/assigned-roles.js';
import { DomainError } from '../errors.js';
import { emptyProfile, type Profile } from './profile.js';
import type { ListedMember } from './read-members.js';

/** Everything that is shown of one member, with the roles that they hold or are going to hold. */
export interface MemberInDetail extends ListedMember {
  identity: Pick<Identity, 'id' | 'email' | 'emailVerifiedAt' | 'createdAt' | 'updatedAt'> & Profile;
  roles: AssignedRole[];
}

type Row = MemberInDetail['identity'] & MemberInDetail['membership'] & { roles: RolesInJson };

const fields = Object.keys(emptyProfile) as (keyof Profile)[];
const statement: Statement = {
  name: 'find_member_in_detail',
  text: `
select i.id, i.email, i.email_verified_at as "emailVerifiedAt", i.created_at as "createdAt", i.updated_at as "updatedAt",
  ${fields.map((field) => `i.${inSnakeCase(field)} as "${field}"`).join(', ')}, m.is_active as "isActive",
  ${rolesOfOne({ environment: '$2', identity: '$3', at: '$4' })} as roles
from environment_memberships m cross join lateral (select * from identities where id = m.identity_id offset 0) i
where m.environment_id = $2 and m.identity_id = $3 and (m.account_id = $1) is true`,
};

/**
 * One member by id, in one round trip (docs/decisions/0032).
 * @param run in the scope, or in that of the whole Account
 * @throws DomainError identity.not_found if there is no such member of the Environment
 */
export async function findMemberInDetail(
  run: RunsStatement,
  scope: EnvironmentScope,
  id: string,
  at: Date,
): Promise<MemberInDetail> {
  const [row] = await run<Row>(statement, [scope.accountId, scope.environmentId, id, at]);
  if (!row) throw new DomainError('identity.not_found');
  return { identity: row, membership: row, roles: rolesInJson(row.roles) };
}
