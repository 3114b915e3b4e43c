import { createErasures } from '../../../src/domain/erasures/erasures.js';
import type { DomainError } from '../../../src/domain/errors.js';
import { createDirectory } from '../../../src/domain/identities/directory.js';
import type { DirectoryPage } from '../../../src/domain/identities/directory-search.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { finishRemovals } from '../../support/finish-removals.js';
import { inviteTo, linkTokenOf } from '../../support/identity-invites.js';
import { rowsOf } from '../../support/rows.js';

/** The end users of an Account across its Environments, and the people invited to its directory. */
let api: TestApi;
let account: TestAccount;
let owner: Call;
let development: string;
let production: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  development = `/applications/${account.applicationSlug}/environments/development`;
  production = `/applications/${account.applicationSlug}/environments/production`;
});
afterAll(() => api.stop());

const add = async (place: string, body: object) => (await owner('POST', `${place}/identities`, body)).json().data.id;
const address = (name: string) => `${name}@${account.accountSlug}.example`;
const listed = async (query = '') =>
  (await owner('GET', `/identities?sort_by=email&order=asc${query}`))
    .json()
    .items.map((one: { email: string }) => one.email.slice(0, one.email.indexOf('@')));

/**
 * Ada in both Environments, Ben in development and deactivated there, Cleo in production, Dora in the directory only.
 */
async function people() {
  const ada = await add(development, {
    email: address('ada'),
    first_name: 'Ada',
    last_name: 'Quick',
    email_verified: true,
  });
  await add(production, { email: address('ada') });
  const ben = await add(development, { email: address('ben') });
  expect(outcomeOf(await owner('POST', `${development}/identities/${ben}/deactivate`))).toMatch(/^20/);
  const cleo = await add(production, { email: address('cleo'), first_name: 'Cleo' });
  const dora = await inviteTo(owner, '/identity-invites', { email: address('dora'), first_name: 'Dora' });
  const accepted = await api.app.inject({
    method: 'POST',
    url: '/v1/identity/auth/accept-invite',
    payload: { token: linkTokenOf(dora.id), password: 'correct horse battery staple 7' },
  });
  expect(accepted.statusCode).toBe(200);
  return { ada, ben, cleo };
}

test('everybody is listed once, with their memberships; filters and the summary agree', async () => {
  const { ada } = await people();
  expect(await listed()).toEqual(['ada', 'ben', 'cleo', 'dora']);
  expect(await listed('&q=ada%20qu')).toEqual(['ada']);
  expect(await listed('&q=%25')).toEqual([]);
  const [{ id: environmentId }] = (
    await owner('GET', `/applications/${account.applicationSlug}/environments?q=devel`)
  ).json().items;
  expect(await listed(`&environment_id=${environmentId}`)).toEqual(['ada', 'ben']);
  expect(await listed(`&environment_id=${environmentId}&status=active`)).toEqual(['ada']);
  expect(await listed(`&environment_id=${environmentId}&status=inactive`)).toEqual(['ben']);
  expect(await listed('&environment_id=none')).toEqual(['dora']);
  expect(await listed('&status=active')).toEqual(['ada', 'cleo']);
  expect(await listed('&status=inactive')).toEqual(['ben', 'dora']);
  expect((await owner('GET', '/identities?take=3&page=2')).json()).toMatchObject({
    items: [{ email: address('ada') }],
    pagination: { item_count: 4, page_count: 2 },
  });
  expect((await owner('GET', `/identities/${ada}`)).json().data).toMatchObject({
    id: ada,
    email: address('ada'),
    name: 'Ada Quick',
    is_active: true,
    email_verified: true,
    memberships: [
      { environment_slug: 'development', application_slug: account.applicationSlug, is_active: true },
      { environment_slug: 'production', application_slug: account.applicationSlug, is_active: true },
    ],
  });
  expect((await owner('GET', '/identities/summary')).json().data).toEqual({
    total: 4,
    active: 2,
    inactive: 1,
    directory_only: 1,
    unverified: 2,
    mfa_enrolled: 0,
  });
});

test('a membership in a deleted environment is not shown', async () => {
  const { ada } = await people();
  expect(outcomeOf(await owner('DELETE', `${development}?confirm=development`))).toBe('204');
  const seen = async () => (await owner('GET', `/identities/${ada}`)).json().data.memberships;
  expect(await seen()).toMatchObject([{ environment_slug: 'production' }]);
  expect(await listed('&status=active')).toEqual(['ada', 'cleo']);
  await finishRemovals(api, account.scope.accountId);
  expect(await listed()).toEqual(['ada', 'cleo', 'dora']);
  expect(await seen()).toMatchObject([{ environment_slug: 'production' }]);
});

test('a person outside the account is not found, and a caller who sees only a part is sent there', async () => {
  const other = await newAccount(api);
  const stranger = callsOf(api, other.accountSlug, await other.as('owner'));
  const { ada } = await people();
  expect(outcomeOf(await stranger('GET', `/identities/${ada}`))).toBe('404 identity.not_found');
  const invite = await inviteTo(owner, '/identity-invites');
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/resend'],
    ['POST', '/revoke'],
  ] as const) {
    expect(outcomeOf(await stranger(method, `/identity-invites/${invite.id}${path}`))).toBe(
      '404 identity_invite.not_found',
    );
  }
  const foreign = { email: address('eve'), environment_id: account.scope.environmentId };
  expect(outcomeOf(await stranger('POST', '/identity-invites', foreign))).toBe('404 environment.not_found');
});

test('an invite to the directory is created, resent and revoked without naming an environment', async () => {
  const made = await inviteTo(owner, '/identity-invites', { email: address('ivo') });
  expect(made).toMatchObject({ intent: 'directory', environment_id: null, status: 'pending' });
  expect((await owner('GET', '/identity-invites?environment_id=none')).json().items).toMatchObject([{ id: made.id }]);
  expect((await owner('GET', `/identity-invites/${made.id}`)).json().data).toMatchObject({ email: address('ivo') });
  const again = { email: address('ivo') };
  expect(outcomeOf(await owner('POST', '/identity-invites', again))).toBe('409 identity_invite.already_pending');
  // By the rules of production, unless the request says otherwise.
  const [{ slug }] = (await rowsOf<{ slug: string }>(
    api,
    'select e.slug from identity_invites i join environments e on e.id = i.environment_id where i.id = $1',
    [made.id],
  )) as [{ slug: string }];
  expect(slug).toBe('production');

  const info = async (linkNumber: number) =>
    outcomeOf(
      await api.app.inject({
        method: 'POST',
        url: '/v1/identity/auth/invite-info',
        payload: { token: linkTokenOf(made.id, linkNumber) },
      }),
    );
  expect(outcomeOf(await owner('POST', `/identity-invites/${made.id}/resend`))).toBe('200');
  expect([await info(1), await info(2)]).toEqual(['400 invite.link_invalid', '200']);
  expect((await owner('POST', `/identity-invites/${made.id}/revoke`)).json().data).toMatchObject({ status: 'revoked' });
  expect(await info(2)).toBe('400 invite.link_invalid');
  expect(outcomeOf(await owner('POST', `/identity-invites/${made.id}/revoke`))).toBe('409 identity_invite.not_pending');
  const { data } = (await owner('GET', '/identity-invites/summary')).json();
  expect(data).toMatchObject({ total_invites: 1, revoked_count: 1 });
});

test('an invite of an environment is resent and revoked here, too; an invitation to an organization is not', async () => {
  const made = await inviteTo(owner, `${development}/identity-invites`);
  expect((await owner('POST', `/identity-invites/${made.id}/resend`)).json().data).toMatchObject({ status: 'pending' });
  expect(outcomeOf(await owner('POST', `/identity-invites/${made.id}/revoke`))).toBe('200');
  const organization = (await owner('POST', `${development}/organizations`, { name: 'Acme' })).json().data.id;
  const invited = { email: address('ole') };
  const invitation = await owner('POST', `${development}/organizations/${organization}/invitations`, invited);
  expect(outcomeOf(await owner('GET', `/identity-invites/${invitation.json().data.id}`))).toBe(
    '404 identity_invite.not_found',
  );
});

test('an account without an environment cannot invite', async () => {
  expect(
    outcomeOf(await owner('DELETE', `/applications/${account.applicationSlug}?confirm=${account.applicationSlug}`)),
  ).toBe('204');
  const asked = { email: address('ivo') };
  expect(outcomeOf(await owner('POST', '/identity-invites', asked))).toBe('404 environment.not_found');
});

/** Does the work of the erasure processes, which an api without a worker lacks. */
async function finishErasures() {
  const erasures = createErasures({ db: api.database.db, now: () => new Date() });
  const running = "select id from erasures where account_id = $1 and status = 'running'";
  for (const { id } of await rowsOf<{ id: string }>(api, running, [account.scope.accountId])) {
    for (const step of [erasures.deleteSessions, erasures.removeMemberships, erasures.complete]) {
      while ((await step(id)) === 'more');
    }
  }
}
const toldOf = async (id: string) =>
  (
    await rowsOf<{ action: string; environment: string | null }>(
      api,
      `select action, e.slug as environment from events v left join environments e on e.id = v.environment_id
       where v.account_id = $1 and v.resource_id = $2 and action like 'identity.%' order by v.created_at, v.id`,
      [account.scope.accountId, id],
    )
  ).map(({ action, environment }) => [action, environment].filter(Boolean).join(' '));

test('a person who is only in the directory can be deleted there, and their address is free once they are erased', async () => {
  await people();
  const [{ id }] = (await owner('GET', '/identities?q=dora')).json().items;
  expect(outcomeOf(await owner('DELETE', `/identities/${id}`))).toBe('204');
  expect(outcomeOf(await owner('DELETE', `/identities/${id}`))).toBe('204');
  expect(outcomeOf(await owner('POST', `${development}/identities`, { email: address('dora') }))).toBe(
    '409 identity.email_taken',
  );
  await finishErasures();
  expect(await listed()).toEqual(['ada', 'ben', 'cleo']);
  expect(outcomeOf(await owner('DELETE', `/identities/${id}`))).toBe('404 identity.not_found');
  expect((await toldOf(id)).slice(-2)).toEqual(['identity.erasure_requested', 'identity.deleted']);
  const again = await add(development, { email: address('dora') });
  expect(again).not.toBe(id);
});

test('a person who is deleted from the account leaves every environment at once, with what waits for their address', async () => {
  const { ada, cleo } = await people();
  const waiting = await inviteTo(owner, `${development}/identity-invites`, { email: address('cleo') });
  const organization = (await owner('POST', `${production}/organizations`, { name: 'Acme' })).json().data.id;
  for (const id of [ada, cleo]) {
    expect(
      outcomeOf(await owner('POST', `${production}/organizations/${organization}/members`, { identity_id: id })),
    ).toMatch(/^20/);
  }
  for (const id of [ada, cleo]) expect(outcomeOf(await owner('DELETE', `/identities/${id}`))).toBe('204');

  for (const place of [development, production]) {
    expect(outcomeOf(await owner('GET', `${place}/identities/${ada}`))).toBe('404 identity.not_found');
  }
  expect((await owner('GET', `${production}/organizations/${organization}`)).json().data.member_count).toBe(0);
  expect((await owner('GET', `/identity-invites/${waiting.id}`)).json().data.status).toBe('revoked');
  await finishErasures();
  expect(await listed()).toEqual(['ben', 'dora']);
  expect((await toldOf(ada)).slice(-4).toSorted()).toEqual([
    'identity.deleted',
    'identity.deleted development',
    'identity.deleted production',
    'identity.erasure_requested',
  ]);
  expect((await owner('GET', `${production}/identities/summary`)).json().data.total).toBe(0);
});

test('a caller who reaches only a part of the account, or only reads, deletes nobody from all of it', async () => {
  const { ada } = await people();
  const other = await newAccount(api);
  const stranger = callsOf(api, other.accountSlug, await other.as('owner'));
  expect(outcomeOf(await stranger('DELETE', `/identities/${ada}`))).toBe('404 identity.not_found');
  const viewer = callsOf(api, account.accountSlug, await account.as('viewer'));
  expect(outcomeOf(await viewer('DELETE', `/identities/${ada}`))).toBe('403 account.capability_required');
  expect((await owner('GET', `/identities/${ada}`)).json().data.memberships).toHaveLength(2);
});

test('a search has a maximum of results, whatever its filters, and has pages', async () => {
  await people();
  const directory = (maxFound: number) => {
    const { db } = api.database;
    return createDirectory({ db, now: () => api.clock.now, processes: { describe: async () => null }, maxFound });
  };
  const page = (more: Partial<DirectoryPage>): DirectoryPage => {
    const everybody = { environmentId: undefined, isActive: undefined };
    return { page: 1, take: 2, sortBy: 'email', order: 'asc', ...everybody, ...more };
  };
  const found = (q: string, most: number, more: Partial<DirectoryPage> = {}) =>
    directory(most)
      .list(account.scope, page({ q, ...more }))
      .then(
        ({ itemCount, rows }) => `${itemCount} ${rows.map(({ identity }) => identity.email.split('@')[0])}`,
        (error: DomainError) => error.options.details?.map(({ field, code }) => `${field} ${code}`).join(),
      );
  expect(await found('.example', 4)).toBe('4 ada,ben');
  expect(await found('.example', 4, { page: 2 })).toBe('4 cleo,dora');
  expect(await found('.example', 4, { page: 3 })).toBe('4 ');
  expect(await found('.example', 4, { isActive: false, environmentId: null })).toBe('1 dora');
  expect(await found('.example', 3)).toBe('query.q too_broad');
  expect(await found('.example', 3, { environmentId: null })).toBe('query.q too_broad');
  expect(await found('.example', 3, { page: 9 })).toBe('query.q too_broad');
  expect(await found('a@', 4)).toBe('2 ada,dora');
  expect(await found('a@', 3)).toBe('query.q too_short');
  const ages = { sortBy: 'created_at', take: 1 } as const;
  const { rows, next } = await directory(4).list(account.scope, { ...page(ages), q: '.example' });
  const { rows: following } = await directory(4).list(account.scope, {
    ...page(ages),
    q: '.example',
    after: next as string,
  });
  expect([rows, following].map((some) => some.map(({ identity }) => identity.email))).toEqual([
    [address('ada')],
    [address('ben')],
  ]);
});
