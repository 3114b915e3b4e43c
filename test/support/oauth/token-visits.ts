import { decodeJwt } from 'jose';
import { baseUrl } from '../api.js';
import type { ModelClient } from './authorization-requests.js';
import type { ModelGrant, Session } from './authorization-states.js';
import { halfHash, type LiveClient, sendAs, type Tell, type World } from './authorization-world.js';
import { newPkce } from './sign-in.js';
import type { AccessToken, RefreshToken } from './token-model.js';
import { type TokenBody, userinfo } from './tokens.js';

/** What clients do with the codes of random authorization requests, compared with what the model expects. */

const inSeconds = (ms: number) => Math.floor(ms / 1000);
/** What the client must be told by an ID token, and by an access token besides. */
function claimsOf({ model, tokens, scope: place, now }: World, grant: ModelGrant, scope: string[]) {
  const { asked, person, session, at, amr, acr } = grant;
  const { organization } = model;
  const iat = inSeconds(now());
  const named = tokens.names(grant, scope) && { organization_id: organization.id };
  const organizations = model.belongs(person) ? [{ id: organization.id, slug: organization.slug, name: 'Acme' }] : [];
  const common = {
    ...{
      iss: baseUrl,
      sub: person.id,
      iat,
      exp: iat + model.settings.tokenLife / 1000,
      auth_time: inSeconds(at),
      amr,
      acr,
    },
    ...{ sid: session.sid, ...named, ...(scope.includes('org') && { organizations }) },
  };
  const name = person.email.slice(0, 3);
  const profile = { name: `${name} Berg`, given_name: name, family_name: 'Berg', updated_at: expect.any(Number) };
  const about = {
    ...(scope.includes('profile') && profile),
    ...(scope.includes('email') && { email: person.email, email_verified: true }),
  };
  const access = {
    ...common,
    ...{
      aud: baseUrl,
      client_id: asked.client.clientId,
      scope: scope.join(' '),
      principal_type: 'identity',
      jti: expect.any(String),
      grant_id: expect.any(String),
    },
    ...{ account_id: place.accountId, application_id: place.applicationId, environment_id: place.environmentId },
    ...(scope.includes('permissions') && { permissions: [] }),
  };
  return { about, access, id: { ...common, ...about, aud: asked.client.clientId } };
}

/** Expects the tokens of an answer to say what was granted, and notes them. */
function take(
  it: World,
  grant: ModelGrant,
  body: TokenBody,
  { scope, nonce }: { scope: string[]; nonce: string | null },
): AccessToken {
  const { model, tokens } = it;
  const sid = decodeJwt(body.access_token).sid as string;
  if (grant.session.sid === null) {
    expect(sessions(it).map((one) => one.sid)).not.toContain(sid);
    grant.session.sid = sid;
  }
  const { access, id } = claimsOf(it, grant, scope);
  expect(decodeJwt(body.access_token)).toEqual(access);
  const nonced = nonce !== null && { nonce };
  expect(body.id_token && decodeJwt(body.id_token)).toEqual(
    scope.includes('openid') ? { ...id, ...nonced, at_hash: halfHash(body.access_token) } : undefined,
  );
  expect(body).toMatchObject({
    token_type: 'Bearer',
    scope: scope.join(' '),
    expires_in: model.settings.tokenLife / 1000,
  });
  if (body.id_token) model.idTokens.set(body.id_token, grant.person.id);
  it.noHints.push(body.access_token);
  return tokens.got(grant, body.access_token, scope, it.now());
}
/** The sessions in which codes were issued. */
export const sessions = ({ tokens }: World): Session[] => [...new Set(tokens.codes.map(({ code }) => code.session))];

const liveOf = ({ clients }: World, model: ModelClient) => clients.find((one) => one.model === model) as LiveClient;
/** Returns mostly the right one. */
const mostly = <T>({ random }: World, right: T, others: T[]) => (random.below(8) > 0 ? right : random.of(others));

/** Mostly as the client may. */
export async function redeem(it: World, tell: Tell): Promise<void> {
  const { tokens, random } = it;
  const issued = random.of(tokens.codes.slice(-3));
  if (!issued) return;
  const { code, text, verifier: made } = issued;
  const client = mostly(it, liveOf(it, code.asked.client), [...it.clients, it.stranger]);
  const redirectUri = mostly(it, code.asked.redirectUri, [
    ...code.asked.client.redirectUris,
    `${code.asked.redirectUri}x`,
    null,
  ]);
  const proper = code.asked.challenge === null ? null : { verifier: made, challenge: code.asked.challenge };
  const proof = mostly(it, proper, [null, newPkce(), { verifier: 'short', challenge: '' }]);
  tell(`redeems as ${client.name} ${redirectUri} ${proof === proper} ${JSON.stringify(code.asked.scope)}`);
  const challenge = proof === null ? null : proof.verifier === 'short' ? undefined : proof.challenge;
  const grant = tokens.redeem(client.model, code, { redirectUri, challenge }, it.now());
  const answer = await sendAs(it, client, 'token', {
    ...{ grant_type: 'authorization_code', code: text },
    ...(redirectUri !== null && { redirect_uri: redirectUri }),
    ...(proof && { code_verifier: proof.verifier }),
  });
  const body = answer.json();
  expect(body.error ?? 'tokens').toBe(grant ? 'tokens' : 'invalid_grant');
  if (!grant) return;
  take(it, grant, body, { scope: tokens.scopeOf(grant), nonce: code.asked.nonce });
  tokens.begun(grant, body.refresh_token, it.now());
}

/** Returns one of the latest, mostly of a grant that is in force. */
function lateOne<T extends { grant: ModelGrant }>({ random }: World, all: T[]): T | undefined {
  const good = all.filter(({ grant }) => !grant.isRevoked && !grant.session.isRevoked);
  return random.of((good.length > 0 && random.below(4) > 0 ? good : all).slice(-4));
}

/** Mostly as the client may. */
export async function refresh(it: World, tell: Tell): Promise<void> {
  const { tokens, random } = it;
  const token = lateOne(it, tokens.refresh);
  if (!token) return;
  const { grant } = token;
  const client = mostly(it, liveOf(it, grant.asked.client), [...it.clients, it.stranger]);
  const wanted = random.of([
    null,
    null,
    ['openid'],
    ['openid', 'email'],
    ['profile'],
    ['org', 'openid'],
    ['offline_access'],
  ]);
  tell(`refreshes as ${client.name} ${wanted} of ${grant.asked.scope}`);
  const scope = tokens.use(client.model, token, wanted, it.now());
  const asking = wanted && { scope: wanted.join(' ') };
  const answer = await sendAs(it, client, 'token', {
    grant_type: 'refresh_token',
    refresh_token: token.text,
    ...asking,
  });
  const body = answer.json();
  expect(body.error ?? 'tokens').toBe(typeof scope === 'string' ? scope : 'tokens');
  if (typeof scope === 'string') return;
  take(it, grant, body, { scope, nonce: null });
  const latest = tokens.refresh.findLast((one) => one.grant === grant) as RefreshToken;
  if (latest.text === '') latest.text = body.refresh_token;
  expect(body.refresh_token).toBe(latest.text);
}

/** Mostly as the client may. */
export async function revoke(it: World, tell: Tell): Promise<void> {
  const { random, tokens } = it;
  const token = lateOne<AccessToken | RefreshToken>(it, random.below(2) === 0 ? tokens.access : tokens.refresh);
  if (!token) return;
  const client = mostly(it, liveOf(it, token.grant.asked.client), [...it.clients, it.stranger]);
  const isRefresh = 'spentAt' in token;
  tell(`revokes as ${client.name} ${isRefresh}`);
  const isOwn = client.model === token.grant.asked.client;
  const isPast = !isRefresh && it.now() >= token.endsAt;
  const answer = await sendAs(it, client, 'revoke', { token: token.text });
  expect(answer.json().error ?? 'done').toBe(isOwn || isPast ? 'done' : 'invalid_grant');
  if (!isOwn) return;
  if (isRefresh) token.grant.isRevoked = true;
  else token.isRevoked = true;
}

/** Expects the latest tokens to be accepted where the model accepts them, and told of whom may know. */
export async function compareTokens(it: World): Promise<void> {
  const { tokens, model } = it;
  const asking = [...it.clients.filter((one) => !one.model.isPublic), it.stranger];
  const mayKnow = (client: LiveClient, { asked }: ModelGrant) =>
    client !== it.stranger && (!client.model.isThirdParty || client.model === asked.client);
  for (const token of tokens.access.slice(-3)) {
    const isGood = tokens.isAccepted(token, it.now());
    const told = await userinfo(it.api.app, token.text);
    const { about, access } = claimsOf(it, token.grant, token.scope);
    const organizations = token.scope.includes('org') && { organizations: access.organizations };
    expect(told.statusCode).toBe(!isGood ? 401 : token.scope.includes('openid') ? 200 : 403);
    if (told.statusCode === 200)
      expect(told.json()).toEqual({ sub: token.grant.person.id, ...about, ...organizations });
    const client = it.random.of(asking);
    const { active, scope } = (await sendAs(it, client, 'introspect', { token: token.text })).json();
    const isTold = isGood && mayKnow(client, token.grant);
    expect({ active, scope }).toEqual({ active: isTold, scope: isTold ? token.scope.join(' ') : undefined });
  }
  for (const token of tokens.refresh.slice(-2)) {
    const client = it.random.of(asking);
    const { active } = (await sendAs(it, client, 'introspect', { token: token.text })).json();
    expect(active).toBe(tokens.isRefreshable(token, it.now()) && mayKnow(client, token.grant));
  }
  for (const person of model.people) {
    const rows = (await it.key('GET', `/identities/${person.id}/applications`)).json().items;
    const expected = it.clients.filter(
      ({ model: client }) =>
        model.consents.has(model.consentKey(person, client)) ||
        tokens.refresh.some(
          (one) =>
            one.grant.person === person &&
            one.grant.asked.client === client &&
            one.spentAt === null &&
            it.now() < one.endsAt &&
            it.now() < one.grant.endsAt &&
            !one.grant.isRevoked &&
            !one.grant.session.isRevoked,
        ),
    );
    expect(rows.map((row: { client_id: string }) => row.client_id).sort()).toEqual(
      expected.map(({ model: client }) => client.clientId).sort(),
    );
  }
}
