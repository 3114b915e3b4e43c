import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { minutes } from '../../../src/platform/clock.js';
import { hashSecret } from '../../../src/platform/crypto/one-time-secret.js';
import { waitingMails } from '../../support/identity-mails.js';
import { alertOf, codeIn, enrollTotp, hidden, passwordStep, strongSession, totpCode } from '../../support/mfa.js';
import { locationOf } from '../../support/oauth/browser.js';
import { password, type TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';

const provider = await newProvider();
afterAll(() => provider.close());

/** Creates a person with an authenticator app, and a browser that has sent the password. */
async function newChallenge(settings: Partial<EnvironmentSettings> = {}, more: Record<string, string> = {}) {
  const environment = await provider.newEnvironment(settings);
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  const { page, verifier } = await passwordStep(browser, client, ana, more);
  return { environment, client, ana, totp, browser, page, verifier };
}
const eventsOf = async (identityId: string) =>
  (
    await provider.query<{ action: string; outcome: string }>(
      `select action, outcome from events where resource_id = $1 and (action like 'auth.mfa%' or action like 'auth.recovery%') order by id`,
      [identityId],
    )
  ).map(({ action, outcome }) => `${action} ${outcome}`);

test('the page asks for the app’s code, without asking the authenticator, and offers the other ways', async () => {
  const { page } = await newChallenge();
  expect(page.statusCode).toBe(200);
  expect(page.body).toContain('Enter the code from your authenticator app.');
  expect(page.body).toMatch(/<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code"/);
  expect(page.body).toMatch(/name="choice" value="email_otp">Code by email/);
  expect(page.body).toMatch(/name="choice" value="recovery_code">Recovery code/);
  expect(page.body).toContain('Do not ask again in this browser for 30 days');
  // Its only script suppresses a second click.
  expect(page.headers['content-security-policy']).not.toContain('connect-src');
  expect(page.body.match(/<script /g)).toHaveLength(1);
  expect(page.cookies.map(({ name }) => name)).toEqual([]);
});

test('the page says whose sign-in it is, and lets another person in, whatever came before it', async () => {
  const { ana, browser, client, environment, page, totp } = await newChallenge();
  codeIn(await browser.submit(page, { code: totp.code() }));
  provider.wait(30_000);
  await provider.query(`update sessions set acr = 'urn:gatehouse:aal1', amr = '{pwd}' where identity_id = $1`, [
    ana.id,
  ]);
  const stepUp = await browser.get(authorizeUrl(client, { acr_values: 'urn:gatehouse:aal2', login_hint: ana.email }));
  const wrong = await browser.submit(stepUp, { code: '000000' });
  const byMail = await browser.submit(stepUp, { factor: 'email_otp' });
  const sent = await browser.submit(byMail, {});
  const wrongCode = await browser.submit(sent, { code: '000000' });
  for (const shown of [page, stepUp, wrong, byMail, sent, wrongCode]) {
    expect(shown.body).toContain('name="challenge_token"');
    expect(shown.body).toContain(`This is the sign-in of ${ana.email}.`);
    expect(shown.body).toContain('>Use another account</a>');
  }
  const german = await browser.get(authorizeUrl(client, { acr_values: 'urn:gatehouse:aal2', ui_locales: 'de' }));
  expect(german.body).toContain(`Das ist die Anmeldung von ${ana.email}.`);

  const [, other = ''] = /<a href="([^"]*)">Use another account</.exec(wrongCode.body) ?? [];
  const ben = await environment.newIdentity();
  await enrollTotp(provider, environment, ben);
  const signIn = await browser.get(other.replaceAll('&amp;', '&'));
  expect(signIn.body).not.toContain(ana.email);
  const bens = await browser.submit(signIn, { email: ben.email, password });
  expect(bens.body).toContain(`This is the sign-in of ${ben.email}.`);
});

test('pages that answer a form may be cached to go back to; those that are fetched may not', async () => {
  const { page, browser, client } = await newChallenge();
  const kept = 'private, max-age=0, must-revalidate';
  const cacheOf = ({ headers }: typeof page) => headers['cache-control'];
  expect(cacheOf(await browser.get(authorizeUrl(client)))).toBe('no-store');
  const pages = [
    page,
    await browser.submit(page, { code: '000000' }),
    await browser.submit(page, { factor: 'email_otp' }),
  ];
  expect(pages.map(cacheOf)).toEqual([kept, kept, kept]);
  expect(cacheOf(await browser.submit(page, { challenge_token: 'x'.repeat(43) }))).toBe(kept); // the sign-in has expired
});

test('the right code ends at the client, and is an audit row', async () => {
  const { page, browser, totp, ana } = await newChallenge();
  const answer = await browser.submit(page, { code: `${totp.code().slice(0, 3)} ${totp.code().slice(3)}` });
  expect(answer.statusCode).toBe(303);
  expect(locationOf(answer).origin).toBe('https://app.example.com');
  expect(codeIn(answer)).toMatch(/./);
  expect(browser.cookies.has('trusted_device')).toBe(false);
  expect(await eventsOf(ana.id)).toEqual(['auth.mfa_challenge_passed success']);
});

test.each([-2, -1, 0, 1, 2])('a code of %d steps from now is accepted up to one step away', async (steps) => {
  const { page, browser, totp } = await newChallenge();
  provider.wait(60_000); // so that even two steps back is after the code that enrolled it
  const code = totpCode(totp.secret, new Date(provider.now().getTime() + steps * 30_000));
  const answer = await browser.submit(page, { code });
  if (Math.abs(steps) <= 1) expect(codeIn(answer)).toMatch(/./);
  else expect(alertOf(answer)).toMatch(/That code is not right/);
});

test('if the Environment accepts only codes of the present step, its neighbours do not work', async () => {
  const { page, browser, totp, environment, ana } = await newChallenge({ totpDriftSteps: 0 });
  provider.wait(60_000);
  const at = (steps: number) => totpCode(totp.secret, new Date(provider.now().getTime() + steps * 30_000));
  for (const steps of [-1, 1])
    expect(alertOf(await browser.submit(page, { code: at(steps) }))).toMatch(/That code is not right/);
  codeIn(await browser.submit(page, { code: at(0) }));
  const { secret, sealed } = await provider.logins.totp.beginEnrollment(environment, { identityId: ana.id, email: '' });
  const code = totpCode(secret, new Date(provider.now().getTime() - 30_000));
  const enroll = (drift: number) => provider.logins.totp.confirmEnrollment(ana.id, { sealed, code, drift });
  expect(() => enroll(0)).toThrow(expect.objectContaining({ code: 'mfa.code_invalid' }));
  expect(enroll(1).type).toBe('totp');
});

test('a code works once, also in another sign-in, and no earlier code works any more', async () => {
  const { page, browser, totp, client, ana } = await newChallenge();
  const next = totpCode(totp.secret, new Date(provider.now().getTime() + 30_000));
  const current = totp.code();
  codeIn(await browser.submit(page, { code: next }));
  for (const code of [next, current]) {
    const again = provider.browser();
    const refused = await again.submit((await passwordStep(again, client, ana)).page, { code });
    expect(alertOf(refused)).toMatch(/That code is not right/);
  }
});

test('one of several parallel answers with one code succeeds', async () => {
  const { client, ana, totp } = await newChallenge();
  const tries = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const browser = provider.browser();
      return { browser, page: (await passwordStep(browser, client, ana)).page };
    }),
  );
  const answers = await Promise.all(tries.map(({ browser, page }) => browser.submit(page, { code: totp.code() })));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 303]);
});

test('a wrong code shows the page again, with the error and the factors', async () => {
  const { page, browser, ana, totp } = await newChallenge();
  for (const code of ['000000', 'abc', '12345', '１２３４５６', `${totp.code()}1`]) {
    const again = await browser.submit(page, { code });
    expect(again.statusCode).toBe(200);
    expect(alertOf(again)).toMatch(/That code is not right/);
    expect(again.body).toMatch(/aria-invalid="true" aria-describedby="message"/);
    expect(again.body).toMatch(/name="choice" value="recovery_code"/);
    expect(hidden(again, 'challenge_token')).toBe(hidden(page, 'challenge_token'));
  }
  expect(alertOf(await browser.submit(page, {}))).toBe('Enter the code.');
  expect(await eventsOf(ana.id)).toEqual(Array(5).fill('auth.mfa_challenge_failed failure'));
  codeIn(await browser.submit(page, { code: totp.code() }));
});

test('choosing another factor shows it, and counts as no attempt', async () => {
  const { page, browser, ana } = await newChallenge();
  const recovery = await browser.submit(page, { factor: 'recovery_code' });
  expect(recovery.body).toMatch(/name="recovery_code" autocomplete="off"/);
  expect(recovery.body).toMatch(/name="choice" value="totp"/);
  const mail = await browser.submit(page, { factor: 'email_otp' });
  expect(mail.body).toContain('<form method="post" action="/oauth/mfa/email-otp/send">');
  expect((await browser.submit(page, { factor: 'webauthn' })).body).toContain(
    'Enter the code from your authenticator app',
  ); // has no factor
  expect(alertOf(recovery)).toBeNull();
  expect(await eventsOf(ana.id)).toEqual([]);
});

test('a recovery code signs in once, in either field and however it is typed, and a mail reports it', async () => {
  const { page, browser, totp, client, ana } = await newChallenge();
  const [first = '', second = ''] = totp.recoveryCodes ?? [];
  codeIn(await browser.submit(page, { recovery_code: first }));
  const spent = provider.browser();
  const { page: again } = await passwordStep(spent, client, ana);
  const refused = await spent.submit(again, { recovery_code: first });
  expect(alertOf(refused)).toBe('That recovery code is not right, or it was used already.');
  codeIn(await spent.submit(again, { code: ` ${second.toLowerCase().replaceAll('-', ' ')}` }));
  expect(await provider.logins.recoveryCodes.remaining(ana, ana.id)).toEqual({ generation: 1, remaining: 8 });
  expect(await eventsOf(ana.id)).toEqual([
    'auth.mfa_challenge_passed success',
    'auth.recovery_code_used success',
    'auth.mfa_challenge_failed failure',
    'auth.mfa_challenge_passed success',
    'auth.recovery_code_used success',
  ]);
  const mails = await provider.query(
    `select m.template from emails m join events e on e.id = m.subject_id where e.resource_id = $1 and e.action = 'auth.recovery_code_used'`,
    [ana.id],
  );
  expect(mails).toEqual([{ template: 'security-notice' }, { template: 'security-notice' }]);
});

test('an old recovery code, hashed with SHA-256, works once, beside those hashed with argon2id', async () => {
  const { page, browser, totp, client, ana } = await newChallenge();
  const [first = '', second = ''] = totp.recoveryCodes ?? [];
  const [old] = await provider.query<{ id: string }>(
    `update recovery_codes set code_hash = $2, hash_parameters = null
     where id = (select min(id::text)::uuid from recovery_codes where identity_id = $1) returning id`,
    [ana.id, hashSecret(first.replaceAll('-', ''))],
  );
  codeIn(await browser.submit(page, { recovery_code: first }));
  const again = provider.browser();
  const refused = await again.submit((await passwordStep(again, client, ana)).page, { recovery_code: first });
  expect(alertOf(refused)).toMatch(/used already/);
  codeIn(await again.submit(refused, { recovery_code: second }));
  const kept = await provider.query<{ id: string; hash_parameters: string | null; used: boolean }>(
    'select id, hash_parameters, used_at is not null as used from recovery_codes where identity_id = $1',
    [ana.id],
  );
  expect(kept.filter(({ hash_parameters }) => hash_parameters === null)).toEqual([
    { ...old, hash_parameters: null, used: true },
  ]);
  expect(new Set(kept.map(({ hash_parameters }) => hash_parameters)).size).toBe(2);
  expect(kept.filter(({ used }) => used)).toHaveLength(2);
});

test('a recovery code that is sent in parallel signs in once', async () => {
  const { client, ana, totp } = await newChallenge();
  const tries = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const browser = provider.browser();
      return { browser, page: (await passwordStep(browser, client, ana)).page };
    }),
  );
  const recovery_code = totp.recoveryCodes?.[0] ?? '';
  const answers = await Promise.all(tries.map(({ browser, page }) => browser.submit(page, { recovery_code })));
  expect(answers.filter(({ statusCode }) => statusCode === 303)).toHaveLength(1);
});

test('new recovery codes make the old ones void', async () => {
  const { environment, page, browser, totp, ana } = await newChallenge();
  const fresh = await provider.logins.recoveryCodes.replace(await strongSession(provider, environment, ana.id));
  expect(new Set(fresh).size).toBe(10);
  for (const code of fresh) expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  expect(alertOf(await browser.submit(page, { recovery_code: totp.recoveryCodes?.[0] ?? '' }))).toMatch(/used already/);
  codeIn(await browser.submit(page, { recovery_code: fresh[9] ?? '' }));
  expect(await provider.logins.recoveryCodes.remaining(ana, ana.id)).toEqual({ generation: 2, remaining: 9 });
});

test('a code by mail is requested, mailed and entered; it works for this sign-in alone', async () => {
  const { page, browser, client, ana } = await newChallenge();
  const offered = await browser.submit(page, { factor: 'email_otp' });
  const sent = await browser.submit(offered, {});
  expect(sent.statusCode).toBe(200);
  expect(sent.body).toContain('We sent a code to your email address.');
  expect(sent.body).toContain('<form method="post" action="/oauth/mfa/email-otp/verify" id="answer">');
  expect(hidden(sent, 'state')).toBe('the state');
  const mails = await waitingMails(provider, client.environmentId);
  expect(mails.at(-1)).toMatchObject({ template: 'second-step-code', to: ana.email });
  const code = await provider.mailedCode('mfa');
  const other = provider.browser();
  const { page: otherPage } = await passwordStep(other, client, ana);
  const elsewhere = await other.submit(otherPage, { factor: 'email_otp' }).then((p) => other.submit(p, {}));
  const newer = await provider.mailedCode('mfa');
  if (code !== newer) expect(alertOf(await other.submit(elsewhere, { code }))).toMatch(/no longer works/);
  const wrong = await browser.submit(sent, { code: code === '000000' ? '000001' : '000000' });
  expect(alertOf(wrong)).toMatch(/no longer works/);
  expect(wrong.body).toContain('action="/oauth/mfa/email-otp/verify"');
  codeIn(await browser.submit(wrong, { code }));
  const [mailed] = await provider.query<{ identity_id: string; environment_id: string }>(
    `select identity_id from emailed_codes where identity_id = $1 and consumed_at is not null`,
    [ana.id],
  );
  expect(mailed).toEqual({ identity_id: ana.id });
});

test('a code that was mailed late is valid as long as its mail says; half an hour after the sign-in began none is mailed', async () => {
  const { page, browser } = await newChallenge();
  const offered = await browser.submit(page, { factor: 'email_otp' });
  provider.wait(minutes(9));
  const sent = await browser.submit(offered, {});
  provider.wait(minutes(9));
  const again = await browser.submit(sent, { code: 'none' });
  expect(alertOf(again)).toMatch(/no longer works/);
  codeIn(await browser.submit(again, { code: await provider.mailedCode('mfa') }));

  const slow = await newChallenge();
  const late = await slow.browser.submit(slow.page, { factor: 'email_otp' });
  let last = late;
  for (let mails = 0; mails < 3; mails++) {
    provider.wait(minutes(9));
    last = await slow.browser.submit(late, {});
    expect(alertOf(last)).toBeNull();
  }
  const code = await provider.mailedCode('mfa');
  provider.wait(minutes(3));
  expect((await slow.browser.submit(late, {})).body).toContain('This sign-in has expired');
  provider.wait(minutes(6));
  codeIn(await slow.browser.submit(last, { code }));
});

/** Requests a code on a page that does not offer one. */
async function askForCode({ page, browser }: Pick<Awaited<ReturnType<typeof newChallenge>>, 'page' | 'browser'>) {
  const names = ['challenge_token', 'client_id', 'response_type', 'scope', 'code_challenge', 'code_challenge_method'];
  const answer = await browser.post('/oauth/mfa/email-otp/send', {
    ...Object.fromEntries(names.map((name) => [name, hidden(page, name)])),
    redirect_uri: 'https://app.example.com/callback?tenant=1',
  });
  expect(answer.statusCode).toBe(200);
  return alertOf(answer);
}

test('no code is mailed if the Environment does not allow them, and the page says so', async () => {
  const { page, browser, client } = await newChallenge({ mfaAllowedFactors: ['totp'] });
  expect(page.body).not.toContain('value="email_otp"');
  expect(client.clientId).toBe(hidden(page, 'client_id'));
  expect(await askForCode({ page, browser })).toBe('We cannot send a code for this sign-in. Confirm in another way.');
});

test('no code is mailed to an unconfirmed address, and none that was mailed before works', async () => {
  const { page, browser, ana, client } = await newChallenge();
  const sent = await browser.submit(await browser.submit(page, { factor: 'email_otp' }), {});
  const code = await provider.mailedCode('mfa');
  const mails = async () => (await waitingMails(provider, client.environmentId)).length;
  const before = await mails();
  await provider.query('update identities set email_verified_at = null where id = $1', [ana.id]);
  expect(await askForCode({ page, browser })).toMatch(/^We cannot send a code/);
  expect(await mails()).toBe(before);
  expect((await browser.submit(sent, { code })).headers.location).toBeUndefined();
});

test('sending a code requires the parameters of the request', async () => {
  const { page, browser } = await newChallenge();
  const answer = await browser.post('/oauth/mfa/email-otp/send', { challenge_token: hidden(page, 'challenge_token') });
  expect(answer.statusCode).toBe(400);
  expect(answer.body).toContain('client_id is missing');
});

test.each([
  ['redirect_uri', 'http://127.0.0.1/cb'],
  ['state', 'another state'],
  ['scope', 'openid permissions'],
  ['nonce', 'another nonce'],
  ['code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  ['client_id', '0192f2a0-3c1d-7b8e-9d53-0f3f6a1f8c11'],
  ['response_type', 'token'],
])('a step that changes %s is refused and uses nothing up', async (name, value) => {
  const { page, browser, totp } = await newChallenge();
  const swapped = await browser.submit(page, { code: totp.code(), [name]: value });
  expect(swapped.statusCode).toBe(400);
  expect(swapped.body).toContain(`${name} differs from the value that the sign-in started with`);
  codeIn(await browser.submit(page, { code: totp.code() }));
});

test('an expired or unknown challenge, or one that was completed in another browser, is a page with a way to begin again, as the client requested', async () => {
  const expired = await newChallenge();
  provider.wait(minutes(10));
  const complete = await newChallenge();
  codeIn(await complete.browser.submit(complete.page, { code: complete.totp.code() }));
  provider.wait(30_000);
  const unknown = await newChallenge();
  for (const [{ browser, page, totp }, more, title] of [
    [expired, {}, 'This sign-in has expired'],
    [{ ...complete, browser: provider.browser() }, {}, 'This sign-in is over'],
    [unknown, { challenge_token: 'x'.repeat(43) }, 'This sign-in has expired'],
    [unknown, { challenge_token: '' }, 'This sign-in has expired'],
  ] as const) {
    const answer = await browser.submit(page, { code: totp.code(), ...more });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain(title);
    const again = /<a class="button" href="([^"]*)"/.exec(answer.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(new URL(again, 'http://x').searchParams.get('state')).toBe('the state');
    expect((await provider.browser().get(again)).body).toContain('name="password"');
  }
  // A forged parameter in the form gets no link.
  const forged = await expired.browser.submit(expired.page, { redirect_uri: 'https://evil.example/' });
  expect(forged.statusCode).toBe(400);
  expect(forged.body).not.toContain('href="/oauth/authorize');
});

describe('a form that is sent twice', () => {
  /** Posts as another tab of the same browser does: with the same cookies. */
  const atOnce = async (
    browser: ReturnType<typeof provider.browser>,
    page: Awaited<ReturnType<typeof browser.get>>,
    code: string,
  ) => {
    const cookies = new Map(browser.cookies);
    const second = provider.browser();
    for (const [name, value] of cookies) second.cookies.set(name, value);
    return Promise.all([browser.submit(page, { code }), second.submit(page, { code })]);
  };
  const sessionsOf = (identityId: string) =>
    provider.query<{ id: string }>('select id from sessions where identity_id = $1', [identityId]);

  test.each([
    ['', {}],
    [' that asks for a new sign-in', { prompt: 'login', max_age: '0' }],
    [' that asks for the account', { prompt: 'select_account' }],
  ])('continues by the session of the first, in a request%s', async (_, more) => {
    const { browser, page, totp, ana } = await newChallenge({}, more);
    const code = totp.code();
    codeIn(await browser.submit(page, { code }));
    const again = await browser.submit(page, { code });
    expect([again.statusCode, again.cookies]).toEqual([303, []]);
    expect(new URL(String(again.headers.location), 'http://x').pathname).toBe('/oauth/authorize');
    const answer = await browser.get(String(again.headers.location));
    expect(locationOf(answer).searchParams.get('state')).toBe('the state');
    codeIn(answer);
    expect(await sessionsOf(ana.id)).toHaveLength(1);
    expect(await eventsOf(ana.id)).toEqual(['auth.mfa_challenge_passed success']);
  });

  test('at once gets one answer, and the other says that the sign-in may be complete', async () => {
    const { browser, page, totp, ana } = await newChallenge();
    const [one, other] = await atOnce(browser, page, totp.code());
    const [first, second] = one.statusCode === 303 ? [one, other] : [other, one];
    codeIn(first);
    expect([second.statusCode, second.cookies]).toEqual([400, []]);
    expect(second.body).toContain('This sign-in is over');
    expect(second.body).toContain('you are either signed in already, or can sign in again');
    expect(second.body).not.toContain('expired');
    expect(await sessionsOf(ana.id)).toHaveLength(1);
  });

  test('continues also if it asks for a code by mail', async () => {
    const { browser, page, totp } = await newChallenge();
    const byMail = await browser.submit(page, { factor: 'email_otp' });
    codeIn(await browser.submit(page, { code: totp.code() }));
    const asked = await browser.submit(byMail, {});
    expect([asked.statusCode, locationOf(asked).pathname]).toEqual([303, '/oauth/authorize']);
  });

  test('by a script is an error as usual', async () => {
    const { browser, page, totp } = await newChallenge();
    const code = totp.code();
    codeIn(await browser.submit(page, { code }));
    const again = await browser.submit(page, { code }, { accept: 'application/json' });
    expect([again.statusCode, again.json().error]).toEqual([400, 'expired']);
  });

  test('after another person has signed in with the browser, says so and signs nobody in', async () => {
    const { browser, page, totp, client, environment } = await newChallenge();
    const code = totp.code();
    codeIn(await browser.submit(page, { code }));
    const ben = await environment.newIdentity();
    codeIn((await passwordStep(browser, client, ben, { prompt: 'login' })).page);
    const again = await browser.submit(page, { code });
    expect([again.statusCode, again.body]).toEqual([400, expect.stringContaining('This sign-in is over')]);
  });
});

test('an enrollment token does not work as a challenge token, nor a challenge of the API on the pages', async () => {
  const { environment, client, ana, totp, browser, page } = await newChallenge();
  const first = {
    identityId: ana.id,
    method: 'password',
    amr: ['pwd'],
    acr: 'urn:gatehouse:aal1',
    authenticatedAt: provider.now(),
    secondFactorAt: null,
    ownFactorAt: null,
  } as const;
  const begin = (channel: 'hosted' | 'api', purpose: 'challenge' | 'enrollment') =>
    provider.logins.pendingSignIns.begin({
      client: { id: client.id, accountId: environment.accountId, environmentId: environment.environmentId },
      channel,
      purpose,
      first: { ...first, amr: [...first.amr] },
      requiresAal2: false,
      parameters: {},
    });
  for (const { token } of [await begin('api', 'challenge'), await begin('hosted', 'enrollment')]) {
    const answer = await browser.submit(page, { challenge_token: token, code: totp.code() });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('This sign-in has expired');
  }
  expect(await provider.logins.pendingSignIns.find(hidden(page, 'challenge_token'), 'api')).toBeNull();
  const api = await provider.app.inject({
    method: 'POST',
    url: '/v1/identity/auth/mfa/challenge/totp',
    payload: { challenge_token: hidden(page, 'challenge_token'), code: totp.code() },
  });
  expect([api.statusCode, api.json().error.code]).toEqual([400, 'mfa.challenge_invalid']);
});

test("a challenge accepts only its own person's factors", async () => {
  const ana = await newChallenge();
  const ben = await ana.environment.newIdentity();
  const bens = await enrollTotp(provider, ana.environment, ben);
  expect(alertOf(await ana.browser.submit(ana.page, { code: bens.code() }))).toMatch(/not right/);
  const recovery = await ana.browser.submit(ana.page, { recovery_code: bens.recoveryCodes?.[0] ?? '' });
  expect(alertOf(recovery)).toMatch(/not right/);
});

test('a person who is deactivated between the factors is not signed in', async () => {
  const { browser, page, totp, ana } = await newChallenge();
  await provider.query('update environment_memberships set is_active = false where identity_id = $1', [ana.id]);
  expect((await browser.submit(page, { code: totp.code() })).statusCode).toBe(400);
});

test('a form of another site is refused', async () => {
  const { browser, page, totp } = await newChallenge();
  const answer = await browser.submit(page, { code: totp.code() }, { origin: 'https://evil.example' });
  expect(answer.statusCode).toBe(403);
});

test('a script gets everything in JSON', async () => {
  const { client, ana, totp } = await newChallenge();
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  const parameters = Object.fromEntries(new URL(authorizeUrl(client), 'http://x').searchParams);
  const send = (url: string, fields: object) =>
    provider.app.inject({ method: 'POST', url, headers: json, payload: { ...parameters, ...fields } });
  const asked = await send('/oauth/authorize', { email: ana.email, password: 'correct horse battery' });
  expect(asked.statusCode).toBe(401);
  const { challenge_token, ...rest } = asked.json();
  expect(rest).toMatchObject({ error: 'mfa_required', available_factors: ['totp', 'email_otp', 'recovery_code'] });
  const wrong = await send('/oauth/mfa-challenge', { challenge_token, code: '000000' });
  expect(wrong.statusCode).toBe(401);
  expect(wrong.json()).toMatchObject({ error: 'access_denied', challenge_token });
  const mailed = await send('/oauth/mfa/email-otp/send', { challenge_token });
  expect(mailed.statusCode).toBe(200);
  expect(mailed.json()).toMatchObject({ code_sent: true, challenge_token });
  const right = await send('/oauth/mfa-challenge', { challenge_token, code: totp.code(), remember_device: true });
  expect(right.statusCode).toBe(200);
  expect(right.json().redirect_to).toMatch(/^https:\/\/app\.example\.com\/callback\?tenant=1&code=/);
  expect(right.cookies.map(({ name }) => name).sort()).toEqual(['hosted_session', 'trusted_device']);
  const expired = await send('/oauth/mfa-challenge', { challenge_token, code: totp.code() });
  expect([expired.statusCode, expired.json().error]).toEqual([400, 'expired']);
});

test('malformed requests are refused without a server error', async () => {
  const { page, browser } = await newChallenge();
  const token = hidden(page, 'challenge_token');
  for (const payload of [
    { challenge_token: token, code: ['1', '2'] },
    { challenge_token: token, code: { a: 1 } },
    { challenge_token: token, recovery_code: '\u0000'.repeat(16) },
    { challenge_token: token, code: 'A'.repeat(100_000) },
    { challenge_token: [token] },
    { challenge_token: token, factor: 'constructor' },
    [],
    null,
  ]) {
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const url = '/oauth/mfa-challenge';
    const answer = await provider.app.inject({ method: 'POST', url, headers, payload: JSON.stringify(payload) });
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.statusCode).toBeLessThan(500);
  }
  expect(browser.cookies.size).toBe(0);
});

test.each([
  ['a factor', true],
  ['the enrollment of a factor', false],
])('a page that asks for %s in an earlier session ends with that session', async (_, hasFactor) => {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const browser = provider.browser();
  codeIn((await passwordStep(browser, client, ana)).page);
  const totp = hasFactor ? await enrollTotp(provider, environment, ana) : null;
  const page = await browser.get(authorizeUrl(client, { acr_values: 'urn:gatehouse:aal2' }));
  expect(page.body).toContain(hasFactor ? 'Enter the code from your authenticator app' : 'action="/oauth/mfa/enroll"');
  const answer = { ...(totp ? { code: totp.code() } : { factor: 'totp' }) };
  const elsewhere = provider.browser(); // the page's token alone is no session
  expect((await elsewhere.submit(page, answer)).body).toContain('This sign-in has expired');
  await endSessions(environment, ana.id);
  expect((await browser.submit(page, answer)).body).toContain('This sign-in has expired');
  expect(await provider.query('select from sessions where identity_id = $1 and revoked_at is null', [ana.id])).toEqual(
    [],
  );
});

test.each([
  ['without a cookie', null],
  ['whose cookie belongs to no session', 'x'.repeat(43)],
])('stepping up an earlier session starts none in a browser %s', async (_, browser) => {
  const environment = await provider.newEnvironment();
  const ana = await environment.newIdentity();
  const proof = { identityId: ana.id, amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:aal2', lifeSeconds: 60 };
  const from = { browser, ipAddress: '192.0.2.1', userAgent: null };
  const stronger = provider.provider.sessions.signIn({ scope: environment, ...proof, ...from, goesOn: true });
  await expect(stronger).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  expect(await provider.query('select from sessions where identity_id = $1', [ana.id])).toEqual([]);
});

const endSessions = ({ accountId, applicationId, environmentId }: TestEnvironment, identityId: string) => {
  const scope = { accountId, applicationId, environmentId };
  return provider.logins.ownSessions.endOthers(scope, identityId, '00000000-0000-0000-0000-000000000000');
};
