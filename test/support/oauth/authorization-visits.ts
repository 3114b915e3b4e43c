import { hours, seconds } from '../../../src/platform/clock.js';
import { baseUrl } from '../api.js';
import { totpCode } from '../mfa.js';
import { drawRequest, type Sent } from './authorization-requests.js';
import type { Outcome, Person } from './authorization-states.js';
import { type LiveBrowser, password, type Seen, seen, sendAs, type Tell, type World } from './authorization-world.js';
import { authorizeUrl, newPkce } from './sign-in.js';

/** What people do on the pages of random authorization requests, compared with what the model expects. */

/** Says what the model expects to be seen. */
const expectedOf = (outcome: Outcome) => {
  if (outcome.is !== 'error' && outcome.is !== 'code') return { is: outcome.is };
  const { redirectUri, mode, state } = outcome.asked;
  const result = outcome.is === 'error' ? { error: outcome.error } : { code: true };
  return { is: 'answer', to: redirectUri, mode, said: { ...result, ...(state !== null && { state }), iss: baseUrl } };
};
const comparable = (shown: Seen) => {
  if (!('said' in shown)) return { is: shown.is };
  const { code, error_description: _, ...said } = shown.said;
  return { ...shown, said: { ...(code && { code: true }), ...said } };
};

/** The parameters that a page carries on: the person allows what they are shown. */
const carried = ({ sent, scope }: { sent: Sent; scope: string[] }): Sent => {
  const others = sent.filter(([name]) => name !== 'scope');
  return scope.length === 0 ? others : [...others, ['scope', scope.join(' ')]];
};

/** Sends an authorization request, and goes on from page to page. */
export async function visit(it: World, tell: Tell, meanwhile: (it: World, tell: Tell) => Promise<void>): Promise<void> {
  const { random, model, tokens, noHints, now } = it;
  const emails = model.people.map(({ email }) => email);
  const { sent, verifier } = drawRequest(random, { ...model, emails, noHints });
  const at = random.of(it.browsers);
  const query = new URLSearchParams(sent.map(([name, value]) => [name, value])).toString();
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };
  const isPost = random.below(6) === 0 && new Set(sent.map(([name]) => name)).size === sent.length;
  tell(`${isPost ? 'POST' : 'GET'} ${it.browsers.indexOf(at)} ${decodeURIComponent(query).slice(0, 900)}`);
  let outcome = model.open(sent, at.model, now());
  let answer = isPost
    ? await at.browser.post('/oauth/authorize', Object.fromEntries(sent), form)
    : await at.browser.get(`/oauth/authorize?${query}`);
  for (;;) {
    const shown = await seen(at.browser, answer);
    tell(`  ${outcome.is}${'error' in outcome ? ` ${outcome.error}` : ''}`);
    expect(comparable(shown)).toEqual(expectedOf(outcome));
    if (outcome.is === 'code' && 'said' in shown)
      tokens.codes.push({ code: outcome.code, text: shown.said.code as string, verifier });
    if (!('page' in shown)) return;
    if (outcome.is === 'error page') expect(shown.page.headers['set-cookie']).toBeUndefined();
    if (random.below(5) === 0) await meanwhile(it, tell);
    const next = await goOn(it, at, outcome, shown.page, tell);
    if (!next) return;
    [outcome, answer] = next;
  }
}

type Page = Extract<Seen, { page: unknown }>['page'];
/** Does on a page what somebody may do there; null if they leave. */
async function goOn(
  it: World,
  { browser, model: at }: LiveBrowser,
  outcome: Outcome,
  page: Page,
  tell: Tell,
): Promise<[Outcome, Page] | null> {
  const { api, random, model, apps, now } = it;
  switch (outcome.is) {
    case 'sign-in': {
      if (random.below(8) === 0) return null;
      const [person, isRight] = [random.of(model.people), random.below(12) > 0];
      tell(`  types ${person.email.slice(0, 3)} ${isRight}`);
      const next = model.typed(outcome.asked.sent, at, { person, isRight }, now());
      return [next, await browser.submit(page, { email: person.email, password: isRight ? password : 'a wrong one' })];
    }
    case 'select-account': {
      const choice = random.of(['continue', 'continue', 'other']);
      tell(`  chooses ${choice}`);
      const next =
        choice === 'other'
          ? model.another(outcome.asked.sent, at, now())
          : model.open(outcome.asked.sent, at, now(), outcome.session);
      return [next, await browser.submit(page, { choice })];
    }
    case 'challenge': {
      const isRight = random.below(8) > 0;
      api.clock.advance(seconds(30)); // the app shows another code than the last time
      const { proof, asked } = outcome;
      tell(`  shows ${isRight}`);
      const secret = apps.get(proof.person.id) ?? '';
      const code = isRight ? totpCode(secret, api.clock.now) : totpCode(secret, new Date(now() - hours(5)));
      const isTrusted = random.below(6) === 0;
      const next = isRight
        ? model.showed(asked.sent, at, { ...outcome, isTrusted }, now())
        : model.failed(asked.sent, outcome, now());
      return [next, await browser.submit(page, { code, ...(isTrusted && { remember_device: 'true' }) })];
    }
    case 'enroll or later':
      if (random.below(4) === 0) return null;
      tell('  later');
      return [model.postponed(outcome.asked.sent, at, outcome, now()), await browser.submit(page, { choice: 'later' })];
    case 'consent': {
      const allows = random.below(4) > 0;
      tell(`  allows ${allows}`);
      const next = model.answered(carried(outcome.asked), at, { session: outcome.session, allows }, now());
      return [next, await browser.submit(page, { choice: allows ? 'allow' : 'deny' })];
    }
    default:
      return null;
  }
}

/** The first person signs in to another Environment, in any of the browsers: nothing changes here. */
export async function signInElsewhere(it: World): Promise<void> {
  const { random, model, stranger, noHints } = it;
  const [person] = model.people as [Person];
  const { browser } = random.of(it.browsers);
  const { verifier, challenge } = newPkce();
  const [redirect_uri = ''] = stranger.model.redirectUris;
  const url = authorizeUrl(stranger.model, { redirect_uri, code_challenge: challenge });
  const start = await seen(browser, await browser.get(url));
  const signIn = { email: person.email, password };
  const back = 'page' in start ? await seen(browser, await browser.submit(start.page, signIn)) : start;
  if (!('said' in back)) throw new Error(`nobody was signed in elsewhere: ${back.is}`);
  const grant = { grant_type: 'authorization_code', code: back.said.code ?? '', redirect_uri, code_verifier: verifier };
  const { id_token, access_token } = (await sendAs(it, stranger, 'token', grant)).json();
  model.idTokens.set(id_token, person.id);
  noHints.push(access_token);
  for (const client of it.clients.filter((one) => !one.model.isPublic))
    expect((await sendAs(it, client, 'introspect', { token: access_token })).json()).toEqual({ active: false });
}
