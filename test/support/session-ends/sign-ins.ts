import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import { follow } from '../account.js';
import { here } from '../answers.js';
import { type Browser, locationOf } from '../oauth/browser.js';
import { redirectUri } from '../oauth/environment.js';
import { authorizeUrl, newPkce } from '../oauth/sign-in.js';
import { redeem, type TokenBody } from '../oauth/tokens.js';
import { answerTo } from '../saml/sign-in.js';
import type { ProviderSession, Session } from './model.js';
import type { LiveApplication, LivePerson, There, World } from './world.js';

export interface Visit {
  browser: Browser;
  to: LiveApplication;
}

const textOf = ({ body }: LightMyRequestResponse) =>
  body
    .replace(/<(style|script|title).*?<\/\1>|<[^>]*>/gs, ' ')
    .replace(/\s+/g, ' ')
    .slice(0, 500);

/** Follows an answer to the application, giving the consent for which it may ask. @returns the code */
export async function codeIn(browser: Browser, answer: LightMyRequestResponse, of: LivePerson, to: LiveApplication) {
  let at = answer;
  for (let hops = 0; hops < 9; hops++) {
    const { href, pathname, search, searchParams } = locationOf(at);
    if (at.statusCode === 303 && href.startsWith(redirectUri)) return searchParams.get('code');
    if (at.statusCode === 303) at = await browser.get(pathname + search);
    else if (at.body.includes('name="choice" value="allow"')) {
      expect(to.client.consentRequired && !of.consents.has(to)).toBe(true);
      of.consents.add(to);
      at = await browser.submit(at, { choice: 'allow' });
    } else throw new Error(`no code: ${at.statusCode} ${textOf(at)}`);
  }
  throw new Error('it goes round in circles');
}

/** Redeems a code, and records what the application was given in the session of its ID token. */
export async function take(
  it: World,
  { browser, to }: Visit,
  of: LivePerson,
  code: string,
  verifier: string,
  into: Session | null,
  by: ProviderSession | null,
) {
  const { service, model, now } = it;
  const tokens: TokenBody = (await redeem(service.app, to.client, { code, verifier, redirect: redirectUri })).json();
  const { sid, sub } = decodeJwt(tokens.id_token ?? '') as { sid: string; sub: string };
  expect(to.client.consentRequired && !of.consents.has(to)).toBe(false);
  of.id ??= sub;
  expect(sub).toBe(of.id);
  if (into) expect(sid).toBe(into.id);
  else expect(model.sessions.some(({ id }) => id === sid)).toBe(false);
  const session = into ?? model.began({ id: sid, of, at: to.place, browser }, by, now());
  model.grant(session, to, tokens, now());
}

/** Opens an application: the session that the browser has is enough, or else the person signs in. */
export async function open(it: World): Promise<string> {
  const { random, model, people, applications, now } = it;
  const visit = { browser: random.of(it.browsers), to: random.of(applications) };
  const found = model.use(visit.browser, visit.to.place, now());
  const { verifier, challenge } = newPkce();
  if (found && random.below(3) > 0) {
    const answer = await visit.browser.get(authorizeUrl(visit.to.client, { code_challenge: challenge }));
    const of = found.of as LivePerson;
    const code = await codeIn(visit.browser, answer, of, visit.to);
    expect(code).not.toBeNull();
    await take(it, visit, of, code ?? '', verifier, found, null);
    return `goes on as ${of.email}`;
  }
  const mine = people.filter(({ by }) => by === null || visit.to.place === it.places[0]);
  const of = found && random.below(2) === 0 ? (found.of as LivePerson) : random.of(mine);
  return of.by === null ? byPassword(it, visit, of) : byProvider(it, visit, of);
}

async function byPassword(it: World, visit: Visit, of: LivePerson): Promise<string> {
  const { model, now } = it;
  const { browser, to } = visit;
  const { verifier, challenge } = newPkce();
  const page = await follow(
    browser,
    await browser.get(authorizeUrl(to.client, { code_challenge: challenge, prompt: 'login' })),
  );
  const answer = await browser.submit(page, { email: of.email, password: of.password });
  if (of.keptOutOf.has(to.place)) {
    expect([answer.statusCode, textOf(answer)]).toEqual([200, expect.stringContaining('do not match')]);
    return `is kept out: ${of.email}`;
  }
  const into = model.signIn(of, { browser, at: to.place }, null, now());
  const code = await codeIn(browser, answer, of, to);
  await take(it, visit, of, code ?? '', verifier, into, null);
  return `${of.email} by password${into ? ', goes on' : ''}`;
}

/** Returns the browser's session at the provider of a person: the one that it has there, or a new one. */
function thereFor(it: World, browser: Browser, of: LivePerson): There {
  const { random, there } = it;
  const has = there.find((one) => one.browser === browser && one.of === of);
  if (has && random.below(2) === 0) return has;
  const begun = { browser, of, index: newIndex(it, of) };
  it.there = [...there.filter((one) => one !== has), begun];
  return begun;
}

/** The name of a new session at a person's provider; null if that names none. */
export const newIndex = (it: World, { by }: LivePerson): string | null =>
  by?.type === 'oidc' && it.random.below(4) === 0 ? null : `_${++it.count}-${randomUUID()}`;

async function byProvider(it: World, visit: Visit, of: LivePerson): Promise<string> {
  const { model, now } = it;
  const { browser, to } = visit;
  const { verifier, challenge } = newPkce();
  const { index } = thereFor(it, browser, of);
  let completed = await browser.get(await answered(it, visit, of, { index, challenge }));
  if (of.keptOutOf.has(to.place)) {
    expect(completed.statusCode).toBe(403);
    return `is kept out: ${of.email}`;
  }
  const before = model.sessionIn(browser, to.place, now());
  if (before && before.of !== of) {
    // Anybody can have made the link by which the person came.
    expect(completed.body).toContain('Continue as somebody else?');
    if (it.random.below(3) === 0) {
      it.there = it.there.filter((one) => one.index !== index);
      return `${before.of.email} stays`;
    }
    completed = await browser.submit(completed, {}, { origin: it.service.baseUrl });
  }
  const came: ProviderSession = { of, by: of.by!, index, isOver: false, isForgotten: false };
  model.providerSessions.push(came);
  const into = model.signIn(of, { browser, at: to.place }, came, now());
  const code = await codeIn(browser, completed, of, to);
  await take(it, visit, of, code ?? '', verifier, into, came);
  return `${of.email} by ${of.by?.type} ${index}${into ? ', goes on' : ''}`;
}

/** Has a person sign in at their provider. @returns where the browser comes for what its answer leads to */
export async function answered(
  it: World,
  { browser, to }: Visit,
  of: LivePerson,
  { index, challenge }: { index: string | null; challenge: string },
): Promise<string> {
  const query = authorizeUrl(to.client, { code_challenge: challenge }).replace(/^[^?]*\?/, '');
  const away = locationOf(await browser.get(`/oauth/sso?connection_id=${of.by?.id}&${query}`)).href;
  return here(await bringAnswer(it, browser, of, index, away));
}

/** Brings the provider's answer, as the browser does. */
async function bringAnswer(it: World, browser: Browser, of: LivePerson, index: string | null, away: string) {
  const { saml, oidc, service, now } = it;
  if (of.by?.type === 'saml') {
    const { path, form } = answerTo(away, saml, service.now(), {
      nameId: of.email,
      ...(index && { sessionIndex: index }),
    });
    return service.browser().post(path, form, { origin: 'https://idp.acme.example' });
  }
  const asked = new URL(away).searchParams;
  const iat = Math.floor(now() / 1000);
  const claims = {
    sub: of.name,
    nonce: asked.get('nonce'),
    iat,
    exp: iat + 300,
    email: of.email,
    email_verified: true,
  };
  oidc.answers(() => oidc.idToken({ ...claims, sid: index ?? undefined }));
  const query = new URLSearchParams({ code: 'code', state: asked.get('state') ?? '', iss: oidc.issuer });
  return browser.get(`${new URL(asked.get('redirect_uri') ?? '').pathname}?${query}`);
}
