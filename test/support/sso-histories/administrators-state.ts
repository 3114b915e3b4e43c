import type { TestApi } from '../api.js';
import type { AdministratorsModel } from './administrators-model.js';

const stateText = `
with mine as (select * from users where split_part(lower(email::text), '@', 2) = any($1))
select (select json_agg(json_build_object('id', id, 'email', lower(email::text), 'isVerified', email_verified_at is not null,
    'hasPassword', password_hash is not null, 'firstName', first_name, 'roles', array(
      select m.account_id || ' ' || r.system_key from memberships m join membership_roles mr on mr.membership_id = m.id
        join administrator_roles r on r.id = mr.role_id where m.user_id = mine.id order by 1)) order by id) from mine) as people,
  (select json_agg(connection_id || ' ' || subject || ' ' || user_id) from sso_links where account_id = any($2)) as links,
  (select json_agg(account_id || ' ' || lower(email::text)) from administrator_invites
    where account_id = any($2) and status = 'pending') as invites`;

const inOrder = (all: unknown[] | null | undefined) => (all ?? []).map((one) => JSON.stringify(one)).sort();

/**
 * Expects that administrators, their roles, their links and the invites that are open are the model's.
 * @param domains of which the model knows everybody who has an address there
 */
export async function expectTheModel(
  { database: { db } }: TestApi,
  model: AdministratorsModel,
  { teams, domains }: { teams: readonly { id: string }[]; domains: readonly string[] },
): Promise<void> {
  const values = [domains, teams.map(({ id }) => id)];
  const [found] = await db.transaction('system', (tx) =>
    tx.query<Record<'people' | 'links' | 'invites', unknown[] | null>[]>(stateText, values),
  );
  const people = model.people.map(({ id, email, isVerified, hasPassword, firstName, roles }) => ({
    ...{ id, email: email.toLowerCase(), isVerified, hasPassword, firstName },
    roles: [...roles].map(([team, role]) => `${team} ${role}`).sort(),
  }));
  const links = model.links.map(({ connection, subject, person }) => `${connection.id} ${subject} ${person.id}`);
  const invites = model.invites.map(({ team, email }) => `${team.id} ${email.toLowerCase()}`);
  const { people: theirs, links: linked, invites: open } = found ?? {};
  expect({ people: inOrder(theirs), links: inOrder(linked), invites: inOrder(open) }).toEqual({
    people: inOrder(people),
    links: inOrder(links),
    invites: inOrder(invites),
  });
}
