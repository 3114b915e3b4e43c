/** SQL: whether a membership, a row of `memberships`, is that of an Owner: only the Owner role without limits makes one. */
export const isOwner = (membership: string): string => `exists (
  select from membership_roles mr join administrator_roles r on r.id = mr.role_id
  where mr.membership_id = ${membership}.id and r.system_key = 'owner' and mr.limits is null)`;
