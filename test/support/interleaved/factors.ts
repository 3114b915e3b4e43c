import type { LightMyRequestResponse } from 'fastify';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { createErasures } from '../../../src/domain/erasures/erasures.js';
import { digitsOf } from '../../../src/domain/logins/emailed-codes.js';
import { createLogins, type Logins } from '../../../src/domain/logins/logins.js';
import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { aal1, aal2, firstFactor } from '../../../src/domain/sessions/first-factor.js';
import type { OwnProofOf } from '../../../src/domain/sessions/own-proof.js';
import { createSessions } from '../../../src/domain/sessions/sessions.js';
import { accountUrl, send } from '../account.js';
import { sealing } from '../administrators.js';
import { outcomeOf } from '../answers.js';
import { baseUrl, type TestAccount, type TestApi } from '../api.js';
import { createAuthenticator } from '../authenticator.js';
import { cheapCodes } from '../cheap-codes.js';
import { finishErasure } from '../erasures.js';
import { apiOf, bearer } from '../identity-auth.js';
import { codeIn, enrollTotp, hidden, strongSession, type TestTotp, totpCode } from '../mfa.js';
import { callsWith } from '../nodes.js';
import { Browser, locationOf } from '../oauth/browser.js';
import { redirectUri } from '../oauth/environment.js';
import { authorizeUrl, newPkce } from '../oauth/sign-in.js';
import { postToken } from '../oauth/tokens.js';
import { giveKey } from '../passkeys.js';
import { publicClient } from '../public-client.js';
import { rowsOf } from '../rows.js';

/** Returns the api's sign-in parts, beside the api on its database. */
const loginsOf = (api: TestApi): Logins => {
  const { db } = api.database;
  const now = () => api.clock.now;
  return createLogins({
    db,
    sealing,
    passwords: createPasswords({ breachUrl: null, onOutage: () => {}, hashing: cheapCodes }),
    graces: createMfaGraces({ db, now, reminders: [] }),
    rateLimits: false,
    baseUrl,
    onRehashError: () => {},
    now,
  });
};

/** A browser that has reached a page between the two factors. */
interface Tab {
  browser: Browser;
  page: LightMyRequestResponse;
}

/** What a page's script sends after the authenticator has answered. */
interface Sent {
  path: string;
  fields: Record<string, string>;
}

/** An authenticator app that waits for its first code, as the end-user API returned it. */
interface Begun {
  enrollment_token: string;
  secret: string;
}

/**
 * A person in two browsers who is asked for a second factor or for its enrollment, or who manages their own account.
 */
export interface Person {
  id: string;
  email: string;
  client: { id: string; clientId: string };
  totp: TestTotp | null;
  factorId: string | null;
  /** For each tab: the secret of the app that its page offers, or the code that was mailed for it. */
  secrets: string[];
  tabs: Tab[];
  /** For each tab whose key has answered. */
  sent: Sent[];
  /** An earlier session in which they have shown a factor. */
  own: OwnProofOf | null;
  /** For each tab of their own account: an access token of its session, and the app that it begins to enroll. */
  tokens: string[];
  begun: Begun[];
  /** Later events are theirs. */
  since: string;
  codes: string[];
}

/**
 * Where the person is: asked for a factor after a password or in an earlier session, or asked to enroll one. Or their
 * key has answered: as the first factor (`passkey`), as the second, or as a new one. Or they are in their own account
 * with an app (`own`) or without a factor (`ownFirst`), about to add another.
 */
export interface Waiting {
  for: 'challenge' | 'mail' | 'enrollment' | 'saving' | 'passkey' | 'key' | 'newKey' | 'own' | 'ownFirst';
  /** Whether an earlier session is to be stepped up. */
  isStepUp?: boolean;
}

/** Returns the secret of the app that a page offers. */
const secretOn = ({ body }: LightMyRequestResponse) =>
  (/<dd class="code">([A-Z2-7 ]+)<\/dd>/.exec(body)?.[1] ?? '').replaceAll(' ', '');

type Key = ReturnType<typeof createAuthenticator>;

const goesOn = 'goes on';
const isDone = 'done';
const isAskedAnew = 'asked anew';
const stronger = { acr_values: 'urn:gatehouse:aal2' };

/** Creates people between their two factors, and what can happen to them at the same moment. */
export async function newInterleavedFactors(api: TestApi, account: TestAccount) {
  const { scope } = account;
  const logins = loginsOf(api);
  const now = () => api.clock.now;
  const erasures = createErasures({ db: api.database.db, now });
  const sessions = createSessions({ db: api.database.db, now });
  const key = callsWith(api, await account.apiKey());
  const pkce = newPkce();
  const asked = { ...publicClient, redirectUris: [redirectUri] };
  const wait = (ms: number) => api.clock.advance(ms);
  const { environmentSettings } = api.services;
  const { mfaPolicy, mfaAllowedFactors, mfaGracePeriodDays } = await environmentSettings.get(scope);
  const settings = async (fields: Partial<EnvironmentSettings>) => {
    const { version } = await environmentSettings.get(scope);
    await environmentSettings.update(scope, version, fields);
    return 'changed';
  };

  async function newIdentity(email: string): Promise<string> {
    const { id } = (await key('POST', '/identities', { email })).json().data;
    await rowsOf(api, 'update identities set email_verified_at = now() where id = $1', [id]);
    return id;
  }
  async function giveSession(browser: Browser, identityId: string, isStrong = false) {
    const how = isStrong
      ? { amr: ['pwd', 'otp', 'mfa'], acr: aal2, secondFactorAt: now() }
      : { amr: ['pwd'], acr: aal1 };
    const proof = { identityId, ...how, lifeSeconds: 3600 };
    const signedIn = await sessions.signIn({ scope, ...proof, browser: null, ipAddress: '127.0.0.1', userAgent: null });
    browser.cookies.set('hosted_session', signedIn.browser);
  }
  /** Goes on as if the password had been verified, without the cost of hashing. */
  async function afterPassword(
    browser: Browser,
    { id: clientRow }: { id: string },
    {
      id,
      parameters,
      purpose,
    }: { id: string; parameters: Record<string, string>; purpose: 'challenge' | 'enrollment' },
  ) {
    const { token } = await logins.pendingSignIns.begin({
      client: { id: clientRow, ...scope },
      channel: 'hosted',
      purpose,
      first: firstFactor(id, 'password', ['pwd'], { now: now() }),
      requiresAal2: 'acr_values' in parameters,
      parameters,
    });
    const [path, name] =
      purpose === 'challenge' ? ['/oauth/mfa-challenge', 'challenge_token'] : ['/oauth/mfa/enroll', 'enrollment_token'];
    return browser.post(path!, { [name!]: token, factor: purpose === 'challenge' ? 'totp' : '' });
  }

  /** Has a key answer the request of the pages' script. */
  async function keyed(
    what: Waiting['for'],
    { page, browser }: Tab,
    parameters: Record<string, string>,
    key: Key,
  ): Promise<Sent> {
    const asking = async (path: string, fields: Record<string, string>) =>
      (await browser.post(path, fields, { origin: baseUrl })).json();
    if (what === 'passkey') {
      const { options, passkey_token } = await asking('/oauth/login/passkey/options', parameters);
      const credential = JSON.stringify(key.get(options));
      return { path: '/oauth/login/passkey/verify', fields: { ...parameters, passkey_token, credential } };
    }
    const tokenIn = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page.body)?.[1] ?? '';
    if (what === 'key') {
      const challenge_token = tokenIn('challenge_token');
      const credential = JSON.stringify(key.get(await asking('/oauth/mfa/webauthn/options', { challenge_token })));
      return { path: '/oauth/mfa/webauthn/verify', fields: { challenge_token, credential } };
    }
    const enrolling = { enrollment_token: tokenIn('enrollment_token') };
    const { options, enrollment_token } = await asking('/oauth/mfa/webauthn/enroll/options', enrolling);
    const credential = JSON.stringify(key.create(options));
    return { path: '/oauth/mfa/webauthn/enroll/verify', fields: { enrollment_token, credential } };
  }

  /**
   * Opens a page of the own account, with an access token of its session and an API enrollment that waits for a code.
   */
  async function ownTab(client: { id: string; clientId: string }, id: string, isStrong: boolean) {
    const browser = new Browser(api.app);
    await giveSession(browser, id, isStrong);
    const answer = await browser.get(authorizeUrl(client, { code_challenge: pkce.challenge }));
    const code = codeIn(answer);
    const fields = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: pkce.verifier, code };
    const { access_token: token } = (await postToken(api.app, client as never, fields)).json();
    const page = await browser.get(accountUrl(client, {}, '/factors/totp'));
    const begun: Begun = (await apiOf(api).post('/mfa/totp/enroll', undefined, bearer(token))).json().data;
    return { tab: { browser, page }, token: token as string, begun };
  }

  async function make({ for: what, isStepUp = false }: Waiting): Promise<Person> {
    const isOwn = what === 'own' || what === 'ownFirst';
    const withCodes = what !== 'enrollment' && what !== 'newKey';
    await settings({
      mfaPolicy,
      mfaAllowedFactors: mfaAllowedFactors.filter((kind) => withCodes || kind !== 'recovery_code'),
      mfaGracePeriodDays,
    });
    const { client } = await api.services.clientManagement.create(scope, asked);
    const email = `ana-${client.clientId}@example.com`;
    const id = await newIdentity(email);
    const isChallenge = what === 'challenge' || what === 'mail' || what === 'key' || what === 'passkey';
    const key = createAuthenticator({ origin: baseUrl });
    const isKeyed = what === 'key' || what === 'passkey';
    if (isKeyed) await giveKey({ db: api.database.db, logins, now }, { ...scope, id, email }, key);
    const hasApp = (isChallenge && !isKeyed) || what === 'own';
    const { db } = api.database;
    const totp = hasApp ? await enrollTotp({ db, logins, now, wait }, scope, { id, email }) : null;
    const own = isChallenge ? await strongSession({ db, now }, scope, id) : null;
    const [factor] = await logins.factors.list(scope, id);
    const more = { code_challenge: pkce.challenge, ...((isStepUp || !isChallenge) && stronger) };
    const parameters = Object.fromEntries(new URL(authorizeUrl(client, more), baseUrl).searchParams);
    const inSession = new Browser(api.app);
    if (isStepUp) await giveSession(inSession, id);
    const secrets: string[] = [];
    const tabs: Tab[] = [];
    const sent: Sent[] = [];
    const inAccount = isOwn ? [await ownTab(client, id, hasApp), await ownTab(client, id, hasApp)] : [];
    for (const { tab } of inAccount) {
      tabs.push(tab);
      secrets.push(secretOn(tab.page));
    }
    for (const browser of isOwn ? [] : [inSession, isStepUp ? inSession : new Browser(api.app)]) {
      const page = isStepUp
        ? await browser.get(authorizeUrl(client, more))
        : await afterPassword(browser, client, { id, parameters, purpose: isChallenge ? 'challenge' : 'enrollment' });
      if (what === 'mail') {
        const sent = await browser.submit(await browser.submit(page, { factor: 'email_otp' }), {});
        tabs.push({ browser, page: sent });
        const [row] = await rowsOf<{ id: string; keyId: string }>(
          api,
          `select id, key_id as "keyId" from emailed_codes where identity_id = $1 order by created_at desc, id desc limit 1`,
          [id],
        );
        secrets.push(digitsOf(sealing, row!).digits);
      } else if (isKeyed || what === 'newKey') {
        tabs.push({ browser, page });
        sent.push(await keyed(what, { browser, page }, parameters, key));
      } else if (isChallenge) tabs.push({ browser, page });
      else {
        const offered = await browser.submit(page, { factor: 'totp' });
        secrets.push(secretOn(offered));
        tabs.push({ browser, page: offered });
      }
    }
    if (what === 'saving') {
      const { browser, page } = tabs[0]!;
      const enrolled = await browser.submit(page, { code: totpCode(secrets[0]!, now()) });
      tabs[0] = { browser, page: await browser.get(String(enrolled.headers.location).replace(baseUrl, '')) };
    }
    wait(1); // so that what happens now is later than their proof
    const [time] = await rowsOf<{ now: string }>(api, 'select clock_timestamp()::text as now');
    const factorId = factor?.id ?? null;
    const tokens = inAccount.map(({ token }) => token);
    const begun = inAccount.map((one) => one.begun);
    const mine = { own, tokens, begun };
    return { id, email, client, totp, factorId, secrets, tabs, sent, ...mine, since: time!.now, codes: [] };
  }

  /** Returns what the answer to a form means; keeps a code. */
  function came(person: Person, response: LightMyRequestResponse): string {
    const { statusCode, headers, body } = response;
    if (headers.location) {
      const { pathname, searchParams } = locationOf(response);
      const code = searchParams.get('code');
      if (code) person.codes.push(code);
      if (code) return goesOn;
      if (pathname === '/oauth/authorize') return goesOn; // signed in completely, and recognized here
      return searchParams.get('error') ?? `${statusCode} ${pathname}`;
    }
    const said = /role="alert">([^<]*)</.exec(body)?.[1] ?? /<h1[^>]*>([^<]*)</.exec(body)?.[1] ?? body.slice(0, 200);
    // `left` redeems the codes: the sign-in or its client may have ended right after the factor.
    return ['This sign-in has expired', 'This sign-in is over', 'Page not found'].includes(said)
      ? goesOn
      : `${statusCode} ${said}`;
  }
  const answering = (tab: 0 | 1, fields: (person: Person) => Record<string, string>) => async (person: Person) => {
    const { browser, page } = person.tabs[tab]!;
    return came(person, await browser.submit(page, { remember_device: 'true', ...fields(person) }));
  };
  const byKey = (tab: 0 | 1) => async (person: Person) => {
    const { path, fields } = person.sent[tab]!;
    const { browser } = person.tabs[tab]!;
    const response = await browser.post(path, { ...fields, remember_device: 'true' }, { origin: baseUrl });
    const { redirect_to: target, error } = response.json();
    if (!target) return error === 'expired' ? goesOn : `${response.statusCode} ${error}`;
    const code = new URL(target).searchParams.get('code');
    if (code) person.codes.push(code);
    return goesOn;
  };
  const byTotp = (person: Person) => ({ code: person.totp!.code() });
  const byRecovery = (person: Person) => ({ recovery_code: person.totp!.recoveryCodes![0]! });
  const enrolling = (tab: 0 | 1) => answering(tab, ({ secrets }) => ({ code: totpCode(secrets[tab]!, now()) }));

  /** Submits a form of the own account. Nothing checks the next page, which may have ended at the same moment. */
  const ownForm =
    (tab: 0 | 1, form: (person: Person) => string, fields: (person: Person) => Record<string, string>) =>
    async (person: Person) => {
      const { browser, page } = person.tabs[tab]!;
      const response = await send(browser, page, form(person), fields(person));
      if (!response.headers.location) return came(person, response);
      const { searchParams } = locationOf(response);
      return searchParams.has('done') || searchParams.has('codes_token') ? isDone : isAskedAnew;
    };
  const addApp = (tab: 0 | 1) =>
    ownForm(
      tab,
      () => 'factors/totp',
      ({ tabs, secrets }) => ({
        enrollment: hidden(tabs[tab]!.page, 'enrollment'),
        code: totpCode(secrets[tab]!, now()),
      }),
    );
  const addAppByApi = (tab: 0 | 1) => async (person: Person) => {
    const { enrollment_token, secret } = person.begun[tab]!;
    const body = { enrollment_token, code: totpCode(secret, now()) };
    return outcomeOf(await apiOf(api).post('/mfa/totp/confirm', body, bearer(person.tokens[tab]!)));
  };

  const happenings = {
    addApp: addApp(0),
    addAppInSecondTab: addApp(1),
    addAppByApi: addAppByApi(0),
    addAppByApiElsewhere: addAppByApi(1),
    removeApp: ownForm(
      0,
      ({ factorId }) => `factors/${factorId}`,
      () => ({}),
    ),
    removeAppByApi: async ({ tokens, factorId }: Person) =>
      outcomeOf(await apiOf(api).delete(`/mfa/factors/${factorId}`, bearer(tokens[0]!))),
    removeAppByApiElsewhere: async ({ tokens, factorId }: Person) =>
      outcomeOf(await apiOf(api).delete(`/mfa/factors/${factorId}`, bearer(tokens[1]!))),
    renewOwnCodes: ownForm(
      0,
      () => 'recovery-codes',
      () => ({}),
    ),
    renewOwnCodesByApi: async ({ tokens }: Person) =>
      outcomeOf(await apiOf(api).post('/mfa/recovery-codes', undefined, bearer(tokens[0]!))),
    answer: answering(0, byTotp),
    answerTwice: answering(0, byTotp),
    answerInSecondTab: answering(1, byTotp),
    recover: answering(0, byRecovery),
    recoverTwice: answering(0, byRecovery),
    recoverInSecondTab: answering(1, byRecovery),
    useKey: byKey(0),
    useKeyTwice: byKey(0),
    useKeyInSecondTab: byKey(1),
    answerMail: answering(0, ({ secrets }) => ({ code: secrets[0]! })),
    answerMailTwice: answering(0, ({ secrets }) => ({ code: secrets[0]! })),
    save: answering(0, () => ({})),
    saveTwice: answering(0, () => ({})),
    enroll: enrolling(0),
    enrollTwice: enrolling(0),
    enrollInSecondTab: enrolling(1),
    async removeFactor({ own, factorId }: Person) {
      return logins.factors.remove(own!, factorId!).then(
        () => 'removed',
        (error: { code?: string }) => String(error.code ?? error),
      );
    },
    async erase({ id }: Person) {
      const erasure = await erasures.request(scope, id);
      return finishErasure(erasures, erasure.id);
    },
    reset: async ({ id }: Person) => outcomeOf(await key('POST', `/identities/${id}/mfa/reset`)),
    renewCodes: async ({ own }: Person) => String((await logins.recoveryCodes.replace(own!)).length),
    deactivate: async ({ id }: Person) => outcomeOf(await key('POST', `/identities/${id}/deactivate`)),
    remove: async ({ id }: Person) => outcomeOf(await key('DELETE', `/identities/${id}`)),
    changePassword: async ({ id }: Person) =>
      outcomeOf(await key('PUT', `/identities/${id}/password`, { password: 'violet tractor 19' })),
    endSessions: async ({ id }: Person) => outcomeOf(await key('DELETE', `/identities/${id}/sessions`)),
    forgetDevices: async ({ id }: Person) => logins.trustedDevices.revokeAll(scope, id).then(() => 'forgotten'),
    policyOff: () => settings({ mfaPolicy: 'off' }),
    policyRequired: () => settings({ mfaPolicy: 'required', mfaGracePeriodDays: 0 }),
    takeNoApps: () => settings({ mfaAllowedFactors: ['webauthn', 'recovery_code'] }),
    async deleteClient({ client }: Person) {
      await api.services.clientManagement.remove(scope, client.id);
      return 'deleted';
    },
    async changeRedirect({ client }: Person) {
      await api.services.clientManagement.update(scope, client.id, {
        redirectUris: ['https://elsewhere.example.com/'],
      });
      return 'changed';
    },
  };

  async function left(person: Person) {
    const { id, since, tabs, codes, client } = person;
    const [row] = await rowsOf(
      api,
      `select (select count(*) from trusted_devices where identity_id = $1) as devices,
         (select array_agg(type order by type) from mfa_factors where identity_id = $1) as factors,
         (select count(*) from recovery_codes where identity_id = $1 and used_at is null) as codes,
         (select array_agg(template || ' ' || cause_kind order by 1) from
            (select template, split_part(cause, '/', 1) as cause_kind from emails
             where subject_id in (select id from events where resource_id = $2) or subject_id = $1) m) as mails`,
      [id, id],
    );
    const told = await rowsOf<{ told: string }>(
      api,
      `select action::text || ' ' || outcome || ' ' || count(*) as told from events
       where account_id = $1 and created_at > $2::timestamptz
         and action not in ('identity.signed_in', 'auth.identity_signed_out', 'identity.sessions_revoked')
         and (resource_id = $3 or actor_id = $3 or resource_id is null)
       group by action, outcome order by 1`,
      [scope.accountId, since, id],
    );
    // All of these lock the person, so they run one by one; after a new password, only a session that survived it makes
    // changes.
    const [changed] = await rowsOf(
      api,
      `select array_agg(action order by id) as changes from events
       where account_id = $1 and created_at > $2::timestamptz and resource_id = $3 and action in ('identity.password_changed',
         'identity.mfa_enrolled', 'identity.mfa_removed', 'identity.mfa_reset', 'auth.recovery_codes_renewed')`,
      [scope.accountId, since, id],
    );
    const fields = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: pkce.verifier };
    let given = 0;
    for (const code of codes)
      given += (await postToken(api.app, client as never, { ...fields, code })).statusCode === 200 ? 1 : 0;
    const isIn: boolean[] = [];
    for (const { browser } of tabs) {
      const response = await browser.get(authorizeUrl(client, { prompt: 'none' }));
      isIn.push(Boolean(response.headers.location && locationOf(response).searchParams.get('code')));
    }
    return { ...row, told: told.map((event) => event.told), ...changed, given, in: isIn };
  }

  return { make, happenings: happenings as Record<keyof typeof happenings, (person: Person) => Promise<string>>, left };
}
