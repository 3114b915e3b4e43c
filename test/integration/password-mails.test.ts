import { randomUUID } from 'node:crypto';
import { createPasswordForgot } from '../../src/domain/users/password-forgot.js';
import { hours } from '../../src/platform/clock.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { registrationServices } from '../support/registration.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

const select = (text: string, ...values: unknown[]) => rowsAsOwner(database.ownerUrl, text, values);

/** Creates a person who may have forgotten a password; returns what their mails become. */
async function asked({ passwordHash = 'hash' as string | null, known = true, times = 1 } = {}) {
  const services = registrationServices(database);
  const forgot = createPasswordForgot({ db: database.db, sealing: services.sealing, now: services.now });
  const email = `ana.${randomUUID()}@example.com`;
  const insert = `insert into users (id, email, first_name, last_name, password_hash, created_at, updated_at)
    values ($1, $2, 'Ana', 'Kovač', $3, now(), now())`;
  if (known) await select(insert, randomUUID(), email, passwordHash);
  const before = (await select('select id from password_links')).map(({ id }) => id);
  for (let i = 0; i < times; i++) await forgot({ email, locale: 'de' });
  const links = await select('select id from password_links where not id = any($1) order by id', before);
  const mails = await Promise.all(
    links.map(async ({ id }) => (await select('select id from emails where subject_id = $1', id))[0]?.id as string),
  );
  return { services, email, mails };
}

test.each([
  ['password-reset', 'hash'],
  ['set-password', null],
] as const)(
  '%s goes to the owner of the address, with a link whose token is stored nowhere',
  async (name, passwordHash) => {
    const { services, email, mails } = await asked({ passwordHash });
    expect(await services.emails.send(mails[0]!)).toBe('sent');
    expect(services.sent).toMatchObject([{ name, to: email, values: { first_name: 'Ana' } }]);
    const [, token] =
      /\/v1\/auth\/password\/reset\?token=([\w-]{43})$/.exec(services.sent[0]?.values.link as string) ?? [];
    expect(token).toBeDefined();
    const stored = JSON.stringify([await select('select * from password_links'), await select('select * from outbox')]);
    expect(stored).not.toContain(token);
  },
);

test('an unknown address gets no mail', async () => {
  const { services, mails } = await asked({ known: false });
  expect(mails).toHaveLength(1);
  expect(await services.emails.send(mails[0]!)).toBe('cancelled');
  expect(services.sent).toEqual([]);
});

test('a link that does not work any more is not sent: an older one, or an expired one', async () => {
  const { services, mails } = await asked({ times: 2 });
  expect(await services.emails.send(mails[0]!)).toBe('cancelled');
  services.moveClock(hours(1));
  expect(await services.emails.send(mails[1]!)).toBe('cancelled');
  expect(services.sent).toEqual([]);
});
