import type { Db } from '../../platform/database/db.js';
import type { SignedInPerson } from '../sessions/signed-in-person.js';

export interface ApiProfile {
  id: string;
  email: string;
  isVerified: boolean;
  firstName: string | null;
  lastName: string | null;
  avatarUrl: string | null;
  hasPassword: boolean;
  createdAt: Date;
  updatedAt: Date;
  application: { id: string; name: string; slug: string };
  environment: { id: string; name: string; slug: string; type: string };
  session: { authenticatedAt: Date; amr: string[]; acr: string; createdAt: Date };
}

type Row = Omit<ApiProfile, 'session'> & ApiProfile['session'] & { identityCreatedAt: Date };

const profileStatement = {
  name: 'profile_of_identity',
  text: `
select i.id, i.email::text, i.email_verified_at is not null as "isVerified", i.first_name as "firstName", i.last_name as "lastName",
  i.avatar_url as "avatarUrl", i.password_hash is not null as "hasPassword", i.created_at as "identityCreatedAt",
  i.updated_at as "updatedAt", json_build_object('id', a.id, 'name', a.name, 'slug', a.slug) as application,
  json_build_object('id', e.id, 'name', e.name, 'slug', e.slug, 'type', e.type) as environment,
  s.authenticated_at as "authenticatedAt", s.amr, s.acr, s.created_at as "createdAt"
from (select * from sessions where id = $1 offset 0) s
  cross join lateral (select * from identities where id = s.identity_id offset 0) i
  cross join lateral (select * from environments where id = s.environment_id offset 0) e
  cross join lateral (select * from applications where id = e.application_id offset 0) a
where s.identity_id = $2 and s.environment_id = $3`,
};

/** A signed-in person's own data; null if they were deleted since their token was checked. */
export const createApiProfiles =
  ({ db }: { db: Pick<Db, 'statement'> }) =>
  async ({ sessionId, identityId, environmentId }: SignedInPerson): Promise<ApiProfile | null> => {
    const [row] = await db.statement<Row>(profileStatement, [sessionId, identityId, environmentId]);
    if (!row) return null;
    const { authenticatedAt, amr, acr, createdAt, identityCreatedAt, ...profile } = row;
    return { ...profile, createdAt: identityCreatedAt, session: { authenticatedAt, amr, acr, createdAt } };
  };
