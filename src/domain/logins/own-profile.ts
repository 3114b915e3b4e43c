import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';

/** A signed-in person's own profile. */
export interface OwnProfile {
  email: string;
  firstName: string | null;
  lastName: string | null;
  hasPassword: boolean;
  passwordChangedAt: Date | null;
  isVerified: boolean;
}

const findStatement = {
  name: 'own_profile',
  text: `
select email::text, first_name as "firstName", last_name as "lastName", password_hash is not null as "hasPassword",
  password_changed_at as "passwordChangedAt", email_verified_at is not null as "isVerified"
from identities where account_id = $1 and id = $2`,
};

/** Reads the profile of a person whose session is alive. */
export const createOwnProfile =
  ({ db }: { db: Db }) =>
  async ({ accountId }: EnvironmentScope, identityId: string): Promise<OwnProfile> => {
    const [found] = await db.statement<OwnProfile>(findStatement, [accountId, identityId]);
    if (!found) throw new Error('a session has its identity');
    return found;
  };

export type OwnProfileOf = ReturnType<typeof createOwnProfile>;
