import type { LightMyRequestResponse } from 'fastify';
import { here } from '../answers.js';
import { apiOf, bearer } from '../identity-auth.js';
import type { Browser } from '../oauth/browser.js';
import { loggedOutUri, redirectUri } from '../oauth/environment.js';
import { goingOnTo, leavingIn, logoutResponseXml, signedQuery, success } from '../saml/logout.js';
import type { ProviderSession, Session } from './model.js';
import type { LiveApplication, LivePerson, World } from './world.js';

/** What an application asks of the end session endpoint. */
interface Asked {
  hint: { of: Session | null; token: string; issuedTo: LiveApplication | null } | null;
  named: LiveApplication | null;
  redirect: string | null;
  state: string | null;
}

const site = new URL(redirectUri).origin;

function someRequest(it: World, browser: Browser): Asked {
  const { random, model, applications, removed } = it;
  const here = model.sessions.filter((one) => one.browser === browser && one.hints.length > 0);
  const all = model.sessions.filter(({ hints }) => hints.length > 0).slice(-12);
  const of = random.of(random.below(3) > 0 && here.length > 0 ? here : all);
  const given = of && random.of(of.hints);
  const isNonsense = random.below(20) === 0;
  const hint =
    !given || random.below(4) === 0
      ? null
      : isNonsense
        ? { of: null, token: `${given.token.slice(0, -8)}AAAAAAAA`, issuedTo: null }
        : { of, token: given.token, issuedTo: given.to as LiveApplication };
  const other = random.of(random.below(8) === 0 && removed.length > 0 ? removed : applications);
  const named = hint?.issuedTo
    ? random.of([null, hint.issuedTo, hint.issuedTo, hint.issuedTo, other])
    : random.of([null, other, other]);
  const redirect = random.of([loggedOutUri, loggedOutUri, loggedOutUri, null, `${loggedOutUri}/`, redirectUri]);
  return { hint, named, redirect, state: random.of([null, 'a b&c']) };
}

/** Whether the service can do what is asked: otherwise it says so, and nothing ends. */
function isPossible({ applications }: World, { hint, named, redirect }: Asked): boolean {
  const application = named ?? hint?.issuedTo ?? null;
  if (hint && (hint.issuedTo === null || application !== hint.issuedTo)) return false;
  if (application !== null && !applications.includes(application)) return false;
  return redirect === null || (application !== null && redirect === loggedOutUri);
}

const fieldsOf = ({ hint, named, redirect, state }: Asked): Record<string, string> => ({
  ...(hint && { id_token_hint: hint.token }),
  ...(named && { client_id: named.client.clientId }),
  ...(redirect && { post_logout_redirect_uri: redirect }),
  ...(state && { state }),
});

/** An application sends a browser to sign out; where the request does not name the browser's session, the person is asked. */
export async function signOut(it: World): Promise<string> {
  const { random, model, browsers, now } = it;
  const browser = random.of(browsers);
  const asked = someRequest(it, browser);
  const { hint, named, redirect, state } = asked;
  const words = `${hint ? `hint of ${hint.of?.of.email ?? 'nobody'}` : 'no hint'}, ${redirect}`;
  const hasCookie = browser.cookies.has('hosted_session');
  let out = await sent(it, browser, fieldsOf(asked));
  if (!isPossible(it, asked)) {
    expect(out.statusCode).toBe(400);
    return `is impossible: ${words}`;
  }
  const place = (named ?? hint?.issuedTo)?.place ?? null;
  const current = place && model.sessionIn(browser, place, now());
  const isHinted = current && hint?.of && (hint.of === current || hint.of.of === current.of);
  const isAsked = place === null ? hasCookie : current && !isHinted;
  if (isAsked) {
    expect([out.statusCode, out.body.includes('Sign out?')]).toEqual([200, true]);
    const stays = random.below(3) === 0;
    out = await browser.submit(out, { confirm: stays ? 'no' : 'yes' });
    if (stays) {
      expect([out.statusCode, out.headers.location]).toEqual(place === null ? [200, undefined] : [303, site]);
      return `stays: ${words}`;
    }
  }
  const left = model.toLeave(
    end(it, browser, { place, isBrowsers: Boolean(isAsked || current), named: hint?.of ?? null }),
  );
  const onward = redirect && `${redirect}${state ? '?state=a+b%26c' : ''}`;
  return `${words}: ${await leave(it, browser, out, left, onward)}`;
}

interface Ending {
  /** Null: in all Environments. */
  place: Session['at'] | null;
  /** Whether what the browser has there ends, or the named session alone. */
  isBrowsers: boolean;
  named: Session | null;
}

/** Ends the browser's sessions, and the one that the ID token names. @returns those that were in this browser */
function end({ model, now }: World, browser: Browser, { place, isBrowsers, named }: Ending): Session[] {
  const isIn = (one: Session) => one.isAlive && one.browser === browser;
  const ending = model.sessions.filter(
    (one) => (isBrowsers && isIn(one) && (place === null || one.at === place)) || (one === named && one.isAlive),
  );
  const here = ending.filter(isIn);
  model.end(ending);
  // Without any other session the browser loses its cookie.
  if (isBrowsers && !model.sessions.some((one) => isIn(one) && now() < one.endsAt))
    for (const one of model.sessions) if (one.browser === browser) one.browser = null;
  return here;
}

/** Sends the request, at times by a POST from the application's site, which comes without cookies and leads to a GET. */
async function sent(
  { random, service }: World,
  browser: Browser,
  fields: Record<string, string>,
): Promise<LightMyRequestResponse> {
  if (random.below(4) > 0) return browser.get(`/oauth/logout?${new URLSearchParams(fields)}`);
  const answer = await service.browser().post('/oauth/logout', fields, { origin: site });
  return answer.statusCode === 303 ? browser.get(here(answer)) : answer;
}

/** Expects the browser to be sent to the providers that it has to leave, and then on. */
async function leave(
  it: World,
  browser: Browser,
  out: LightMyRequestResponse,
  left: ProviderSession[],
  onward: string | null,
) {
  const [one] = left;
  expect(left.length).toBeLessThan(2); // nobody comes by two providers here
  if (!one) {
    expect([out.statusCode, out.headers.location]).toEqual(onward === null ? [200, undefined] : [303, onward]);
    return 'is signed out';
  }
  expect(here(out)).toMatch(/^\/sso\/leave\?token=[\w-]{43}$/);
  return leaveBy(it, browser, here(out), one, onward);
}

async function leaveBy(
  it: World,
  browser: Browser,
  link: string,
  one: ProviderSession,
  onward: string | null,
): Promise<string> {
  const away = goingOnTo(await browser.get(link));
  one.isForgotten = true;
  it.there = it.there.filter(({ index }) => index !== one.index);
  const kind = it.random.of(['confirmed', 'confirmed', 'forged', 'refused', 'silent'] as const);
  const back = one.by.type === 'saml' ? backFromSaml(it, one, away, kind) : backFromOpenId(it, away);
  const isConfirmed = one.by.type === 'oidc' || kind === 'confirmed';
  if (kind === 'silent') return 'is at the provider';
  const done = await browser.get(here(await browser.get(back)));
  if (isConfirmed && onward !== null) expect([done.statusCode, done.headers.location]).toEqual([303, onward]);
  else expect([done.statusCode, done.body.includes('has not confirmed')]).toEqual([200, !isConfirmed]);
  return `leaves ${one.by.type}, ${kind}`;
}

/** Expects our LogoutRequest about that session. @returns the address of the provider's answer */
function backFromSaml({ saml, service }: World, one: ProviderSession, away: string, kind: string): string {
  const request = leavingIn(away);
  const sloPath = `/sso/saml/${one.by.id}/slo`;
  expect(request).toMatchObject({ at: saml.fields.samlSloUrl, nameId: one.of.email, sessionIndex: one.index });
  const xml = logoutResponseXml({
    issuer: saml.issuer,
    destination: `${service.baseUrl}${sloPath}`,
    inResponseTo: kind === 'forged' ? '_another' : request.id,
    issueInstant: service.now(),
    status: kind === 'refused' ? 'urn:oasis:names:tc:SAML:2.0:status:Responder' : success,
  });
  return `${sloPath}?${signedQuery('SAMLResponse', xml, saml.key, { relayState: request.relayState })}`;
}

function backFromOpenId({ oidc, connections }: World, away: string): string {
  const { origin, pathname, searchParams } = new URL(away);
  expect([origin + pathname, searchParams.has('id_token_hint')]).toEqual([`${oidc.issuer}/end`, true]);
  const { pathname: path } = new URL(searchParams.get('post_logout_redirect_uri') ?? '');
  expect(path).toContain(connections[1]?.id);
  return `${path}?state=${searchParams.get('state')}`;
}

/** An application signs its person out by an access token. */
export async function signOutByToken(it: World): Promise<string> {
  const { random, model, now } = it;
  const session = random.of(model.sessions.slice(-8));
  const grant = session && random.of(session.grants);
  if (!session || !grant) return 'nothing';
  const answer = await apiOf(it.service).post('/logout', undefined, bearer(grant.access));
  const isGood = model.isGood(grant, now()).access;
  if (!isGood || (grant.to as LiveApplication).client.consentRequired) {
    // Nothing to end is no error; applications of others may not.
    expect(answer.statusCode).toBe(isGood ? 403 : 204);
    return 'ends nothing';
  }
  model.end([session]);
  const [left] = model.toLeave([session]);
  expect(answer.statusCode).toBe(left ? 200 : 204);
  if (!left) return (session.of as LivePerson).email;
  const { redirect_to: link } = answer.json().data;
  return leaveBy(it, session.browser ?? it.browsers[0]!, here({ headers: { location: link } } as never), left, null);
}
