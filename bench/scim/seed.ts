import pg from 'pg';
import { createScimTokens } from '../../src/domain/scim/tokens.js';
import { systemClock as now } from '../../src/platform/clock.js';
import { openDb } from '../../src/platform/database/open-db.js';
import type { Installation } from '../installation.js';
import { type Seed, seed as seedBase } from '../seed.js';

/** An Environment whose people and groups a directory provisions. */
export interface ScimSeed {
  scope: Seed['scope'];
  token: string;
  people: number;
  /** The ids of the people by number, from 0. */
  userIds: readonly string[];
  /** A group with as many members as a group may have, or everybody except one person. It is mapped to a role. */
  largeGroupId: string;
}

const groups = 1_000;
const membersOfLarge = 20_000 - 1;

const numbered = (i: number) => String(i).padStart(6, '0');
export const addressOf = (i: number): string => `p${numbered(i)}@people.example`;
export const otherAddressOf = (i: number): string => `h${numbered(i)}@home.example`;
export const externalIdOf = (i: number): string => `ext-${numbered(i)}`;
/** Returns a part of a person's name that nobody else has. */
export const partOfNameOf = (i: number): string => `No. ${numbered(i)}`;
export const groupNameOf = (i: number): string => `Group ${numbered(i)}`;

/** Fills an empty installation by SQL as the owner: through SCIM a hundred thousand people would take many minutes. */
export async function seedScim({ databaseUrl, ownerUrl }: Installation, people: number): Promise<ScimSeed> {
  const { scope } = await seedBase(databaseUrl);
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query('begin');
    const userIds = await seedPeople(owner, scope, people);
    const largeGroupId = await seedGroups(owner, scope, userIds);
    await owner.query('commit');
    await owner.query('vacuum (analyze)');
    return { scope, token: await newToken(databaseUrl, scope), people, userIds, largeGroupId };
  } finally {
    await owner.end();
  }
}

async function seedPeople(owner: pg.Client, { accountId, environmentId }: Seed['scope'], people: number) {
  const inserted = await owner.query<{ id: string }>(
    `insert into identities (id, account_id, email, first_name, last_name, metadata, email_verified_at, created_at, updated_at)
     select uuidv7(), $1, 'p' || lpad(n::text, 6, '0') || '@people.example', (array['Ana', 'Ben', 'Chloé', 'Dilan', 'Emre'])[1 + n % 5],
       (array['Arendt', 'Bauer', 'Costa', 'Demir', 'Eriksen', 'Fischer', 'Garcia'])[1 + n % 7], '{}', at, at, at
     from generate_series(0, $2::int - 1) n, lateral (select now() - ($2::int - n) * interval '1 second' as at) a
     order by n returning id`,
    [accountId, people],
  );
  const ids = inserted.rows.map(({ id }) => id);
  await owner.query(
    `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     select gen_random_uuid(), $1, $2, i.id, true, i.created_at from identities i where i.id = any($3)`,
    [accountId, environmentId, ids],
  );
  await owner.query(
    `insert into scim_users (account_id, environment_id, identity_id, directory_id, user_name, user_name_key, external_id, attributes,
       made_membership, is_suspended, created_at, updated_at)
     select $1, $2, i.id, $2, i.email, i.email::text, 'ext-' || n, jsonb_build_object(
         'displayName', i.first_name || ' ' || i.last_name || ' No. ' || n, 'title', 'Engineer', 'preferredLanguage', 'de-DE',
         'emails', jsonb_build_array('{"type": "work", "primary": true}'::jsonb,
           jsonb_build_object('type', 'home', 'value', 'h' || n || '@home.example')),
         'phoneNumbers', jsonb_build_array(jsonb_build_object('type', 'work', 'value', '+49 30 ' || n)),
         'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User', jsonb_build_object('department', 'Department ' || right(n, 2))),
       true, false, i.created_at, i.created_at
     from identities i, lateral (select substr(i.email::text, 2, 6) as n) numbered where i.id = any($3)`,
    [accountId, environmentId, ids],
  );
  await owner.query(
    `insert into counters (environment_id, name, account_id, value) values ($2, 'identities', $1, $3)
     on conflict (environment_id, name) do update set value = counters.value + excluded.value`,
    [accountId, environmentId, people],
  );
  return ids;
}

/** @returns the id of the large group */
async function seedGroups(owner: pg.Client, scope: Seed['scope'], userIds: readonly string[]): Promise<string> {
  const { accountId, applicationId, environmentId } = scope;
  const inserted = await owner.query<{ id: string }>(
    `insert into scim_groups (id, account_id, environment_id, directory_id, display_name, display_name_key, external_id, version,
       created_at, updated_at)
     select uuidv7(), $1, $2, $2, 'Group ' || lpad(n::text, 6, '0'), 'group ' || lpad(n::text, 6, '0'), 'g-' || n, 1, now(), now()
     from generate_series(0, $3::int - 1) n order by n returning id`,
    [accountId, environmentId, groups],
  );
  const ids = inserted.rows.map(({ id }) => id);
  // The first group is large; each of the others has its part of the people, starting over at the end. So everybody is
  // in one or two groups, however many people there are.
  const membersOfEach = Math.max(1, Math.round(userIds.length / groups));
  const large = Math.min(membersOfLarge, userIds.length - 1);
  await owner.query(
    `insert into scim_group_members (group_id, identity_id, account_id, environment_id)
     select ($3::uuid[])[1], id, $1::uuid, $2::uuid from unnest(($4::uuid[])[1:$5]) id
     union select ($3::uuid[])[g], ($4::uuid[])[1 + (g * $6 + n) % cardinality($4::uuid[])], $1::uuid, $2::uuid
     from generate_series(2, $7::int) g, generate_series(1, least($6::int, cardinality($4::uuid[]))) n`,
    [accountId, environmentId, ids, userIds, large, membersOfEach, groups],
  );
  await owner.query(
    `with role as (insert into roles (id, account_id, application_id, environment_id, name, is_active, version, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, $3, 'Of the large group', true, 1, now(), now()) returning id),
     mapping as (insert into scim_group_mappings (id, account_id, application_id, environment_id, directory_id, group_id, role_id, node_id,
         created_at)
       select gen_random_uuid(), $1, $2, $3, $3, $4, role.id, n.id, now()
       from role, nodes n where n.environment_id = $3 and n.parent_node_id is null returning *),
     given as (insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
       select gen_random_uuid(), $1, $3, m.identity_id, mapping.role_id, mapping.node_id, now()
       from mapping join scim_group_members m on m.group_id = $4 returning id)
     insert into scim_assignments (assignment_id, account_id, environment_id, directory_id) select id, $1, $3, $3 from given`,
    [accountId, applicationId, environmentId, ids[0]],
  );
  return ids[0] as string;
}

async function newToken(databaseUrl: string, scope: Seed['scope']): Promise<string> {
  const db = await openDb({ url: databaseUrl, poolSize: 1, applicationName: 'gatehouse bench', onError: () => {} });
  try {
    const { environmentId } = scope;
    const input = { name: 'Bench', environmentId, organizationId: null, expiresAt: null };
    return (await createScimTokens({ db, now }).create(scope, input)).secret;
  } finally {
    await db.close();
  }
}
