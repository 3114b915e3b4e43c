import { createScimAuthentication, type ScimAuthentication } from './authenticate.js';
import { createScimDenials, type ScimDenials } from './denials.js';
import { createScimGroups, type ScimGroups } from './groups/groups.js';
import { createScimUsers, type ScimUsers, type ScimUsersDeps } from './users/users.js';

/** The services of a directory: its authentication, its people and groups, and the record of what it was refused. */
export interface Scim {
  authenticate: ScimAuthentication;
  denied: ScimDenials;
  users: ScimUsers;
  groups: ScimGroups;
}

export const createScim = (deps: ScimUsersDeps): Scim => ({
  authenticate: createScimAuthentication(deps),
  denied: createScimDenials(deps),
  users: createScimUsers(deps),
  groups: createScimGroups(deps),
});
