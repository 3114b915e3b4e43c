import type { LightMyRequestResponse } from 'fastify';
import { here } from '../answers.js';
import { baseUrl } from '../api.js';
import { Browser } from '../oauth/browser.js';
import { authorizeUrl, newPkce } from '../oauth/sign-in.js';
import { postToken } from '../oauth/tokens.js';
import { rowsOf } from '../rows.js';
import { askedIn } from '../saml/sign-in.js';
import type { Connection, Found, Outcome, Said } from './model.js';
import { refusalIn } from './refusal.js';
import type { LivePlace, World } from './world.js';

const json = { accept: 'application/json' };
const placeOf = ({ places }: World, { place }: Pick<Connection, 'place'>) =>
  places.find((one) => one === place) as LivePlace;
const redirectUri = 'https://app.example.com/callback';
const pkce = newPkce();
const parametersAt = ({ client }: LivePlace, more: Record<string, string> = {}) =>
  authorizeUrl(client, { redirect_uri: redirectUri, code_challenge: pkce.challenge, ...more }).replace(/^[^?]*\?/, '');

/** Returns who has a code that the service has sent to the client, as `id address`. */
async function personOf(it: World, place: LivePlace, url: string): Promise<string> {
  const code = new URL(url).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
  const { id_token } = (await postToken(it.api.app, place.client as never, fields)).json();
  const claims = JSON.parse(Buffer.from(String(id_token).split('.')[1] ?? '', 'base64url').toString());
  return `${claims.sub} ${claims.email.toLowerCase()} ${claims.email_verified}`;
}

/** Reads what came of a sign-in: the person, `sso_required`, or the code of a refusal. */
async function outcomeIn(it: World, place: LivePlace, browser: Browser, answer: LightMyRequestResponse) {
  const to = answer.statusCode === 200 ? answer.json().redirect_to : undefined;
  if (to === undefined) return refusalIn(answer);
  if (to.startsWith(redirectUri)) return personOf(it, place, to);
  // An unsolicited sign-in leads to the account page; the session says whose.
  const silent = await browser.get(`/oauth/authorize?${parametersAt(place, { prompt: 'none' })}`, json);
  return personOf(it, place, silent.json().redirect_to);
}

/** Carries out a sign-in in the model, where the id of somebody new is the one that the service has chosen. */
async function expected(it: World, connection: Connection, said: Said): Promise<string> {
  const text = 'select identity_id as id from sso_links where connection_id = $1 and subject = $2';
  const [row] = await rowsOf<{ id: string }>(it.api, text, [connection.id, said.subject]);
  return inWords(it.model.signIn(connection, said, () => row?.id ?? 'nobody'));
}

const inWords = (outcome: Outcome): string => {
  if (outcome.refusal !== null) return `sso.${outcome.refusal}`;
  const { id, email, isVerified } = outcome.person;
  return outcome.isBarred ? 'sso_required' : `${id} ${email.toLowerCase()} ${isVerified}`;
};

/**
 * Goes to a connection's provider and back.
 * @param meanwhile changes the world, on the way there and on the way back
 */
export async function signIn(
  it: World,
  connection: Connection,
  said: Said,
  meanwhile: { there: () => Promise<unknown>; back: () => Promise<unknown> },
): Promise<string> {
  const { api, model, providers } = it;
  const place = placeOf(it, connection);
  const browser = new Browser(api.app);
  const isOpen = model.isOpen(connection);
  const sent = await browser.get(`/oauth/sso?${parametersAt(place)}&connection_id=${connection.id}`, json);
  expect(sent.statusCode).toBe(isOpen ? 200 : 400);
  if (!isOpen) return 'connection closed';
  const { era, provider } = connection;
  const isForgotten = () => connection.isDeleted || connection.era !== era;
  await meanwhile.there();
  const answered = await providers.bring(browser, { ...connection, provider }, sent.json().redirect_to, said);
  if (isForgotten()) {
    expect(refusalIn(answered)).toMatch(/^sso\.(stale|issuer_mismatch|signature_invalid)$/);
    return 'forgotten';
  }
  const wasOpen = model.isOpen(connection);
  await meanwhile.back();
  const came = await browser.get(here(answered), json);
  const found = await outcomeIn(it, place, browser, came);
  const wanted = isForgotten()
    ? 'sso.stale'
    : wasOpen
      ? await expected(it, connection, said)
      : 'sso.connection_disabled';
  expect(found).toBe(wanted);
  return found;
}

/** Brings a SAML answer that nobody asked for. */
export async function signInUnasked(it: World, connection: Connection, said: Said): Promise<string> {
  const place = placeOf(it, connection);
  const browser = new Browser(it.api.app);
  const answered = await it.providers.bringUnasked(browser, connection, place.client.clientId, said);
  if (!it.model.isOpen(connection)) {
    expect(refusalIn(answered)).toBe('sso.stale');
    return 'connection closed';
  }
  const found = await outcomeIn(it, place, browser, await browser.get(here(answered), json));
  expect(found).toBe(await expected(it, connection, said));
  return found;
}

const effects = { subject: 'sign_in_linked', address: 'link', new: 'create' } as const;
const effectOf = (found: Found) => (found.refusal === null ? [effects[found.by], null] : ['refuse', found.refusal]);

/** Tries a connection out, whatever its status: the report says what a sign-in would do, and nothing changes. */
export async function tryOut(it: World, connection: Connection, said: Said): Promise<void> {
  const { portal } = placeOf(it, connection);
  const path = `/sso-connections/${connection.id}/test`;
  const { test_id: id, test_url: url } = (await portal('POST', path)).json().data;
  const browser = new Browser(it.api.app);
  const page = await browser.get(url.replace(baseUrl, ''));
  const left = await browser.submit(page, {}, { origin: baseUrl, ...json });
  const answered = await it.providers.bring(browser, connection, left.json().redirect_to, said);
  expect((await browser.get(here(answered))).statusCode).toBe(200);
  const { would, would_refuse_code } = (await portal('GET', `${path}/${id}`)).json().data;
  expect([would, would_refuse_code]).toEqual(effectOf(it.model.recognize(connection, said)));
}

/** Types an address on the sign-in page: where it leads depends on its domain, and not on who has it. */
export async function typeAddress(it: World, place: LivePlace, email: string): Promise<void> {
  const url = `/oauth/sso?${parametersAt(place)}`;
  const answer = await new Browser(it.api.app).post(url, { email }, { origin: baseUrl, ...json });
  const connection = it.model.connectionFor(place, email);
  const to = answer.json().redirect_to;
  if (!connection) expect([answer.statusCode, to]).toEqual([401, undefined]);
  else expect(destinationOf(to)).toContain(connection.id);
}

/** Returns the address to which the provider answers. */
const destinationOf = (away: string): string => new URL(away).searchParams.get('redirect_uri') ?? askedIn(away).acsUrl;
