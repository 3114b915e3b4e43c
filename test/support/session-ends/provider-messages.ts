import { randomUUID } from 'node:crypto';
import { hours, minutes } from '../../../src/platform/clock.js';
import { logoutRequestXml, signedQuery } from '../saml/logout.js';
import type { Ended } from './model.js';
import { type LiveConnection, type LivePerson, samlResponsesAt, type World } from './world.js';

const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} };

/** Draws whom a provider speaks of, and a session that it names: mostly one that it has begun, or the one last awaited. */
function someEnd(it: World, by: LiveConnection) {
  const { random, people, model } = it;
  const coming = it.coming.map(({ came }) => came).filter((one) => one.by === by);
  const awaited = random.below(3) > 0 ? coming.at(-1) : undefined;
  const of = (awaited?.of ?? random.of(people.filter((one) => one.by === by))) as LivePerson;
  const all = [...model.providerSessions.filter((one) => one.by === by), ...coming];
  const of1 = awaited ?? random.of(all.filter((one) => random.below(4) === 0 || one.of === of).slice(-6));
  const index = random.below(6) === 0 ? `_never-${randomUUID()}` : (of1?.index ?? null);
  return { of, index, owner: of1?.of as LivePerson | undefined };
}

const forget = (it: World, index: string | null, of: LivePerson | null) => {
  it.there = it.there.filter((one) => (index === null ? one.of !== of : one.index !== index));
};

/** A provider reports sessions as over, when answers that nobody came for in time are known no longer. */
function report(it: World, by: LiveConnection, ended: Ended): void {
  const inTime = it.coming.filter(({ endsAt }) => it.now() < endsAt);
  const coming = inTime.map(({ came }) => came);
  it.model.endByProvider(by, ended, coming);
}

/** The SAML provider reports a sign-out of its own, or something comes that looks like it. */
export async function samlLogout(it: World): Promise<string> {
  const { random, saml, service, connections } = it;
  const by = connections[0] as LiveConnection;
  const { of, index } = someEnd(it, by);
  const kind = random.of(['good', 'good', 'good', 'unsigned', 'forged', 'late', 'elsewhere', 'of nobody'] as const);
  const sloPath = `/sso/saml/${by.id}/slo`;
  const nameId = kind === 'of nobody' ? `nobody@${by.type}.example` : of.email;
  // It may name several at once.
  const another = index !== null && random.below(3) === 0 ? someEnd(it, by).index : null;
  const indexes = [index, another].filter((one) => one !== null);
  const named = indexes.map((one) => `<samlp:SessionIndex>${one}</samlp:SessionIndex>`).join('');
  const xml = logoutRequestXml({
    issuer: saml.issuer,
    destination: `${service.baseUrl}${kind === 'elsewhere' ? '/sso/saml/slo' : sloPath}`,
    issueInstant: new Date(it.now() - (kind === 'late' ? minutes(7) : 0)),
    content: `<saml:NameID>${nameId}</saml:NameID>${named}`,
  });
  const signed = signedQuery('SAMLRequest', xml, kind === 'forged' ? it.strangersKey : saml.key);
  const url = `${sloPath}?${kind === 'unsigned' ? signed.replace(/&SigAlg=.*/, '') : signed}`;
  const answer = await service.browser().get(url);
  if (kind !== 'good' && kind !== 'of nobody') {
    expect(refusalIn(answer)).toBe(refusals[kind]);
    return `${kind} ${of.email}`;
  }
  expect([answer.statusCode, leadingTo(answer)]).toEqual([303, samlResponsesAt]);
  if (kind === 'good') {
    report(it, by, { of, indexes, ifUnknown: 'all' });
    forget(it, index, of);
    if (another !== null) forget(it, another, of);
  }
  if (random.below(3) === 0) expect(refusalIn(await service.browser().get(url))).toBe('replayed');
  return `${kind} ${of.email} ${indexes}`;
}

const refusals = {
  unsigned: 'unsigned',
  forged: 'signature_invalid',
  late: 'expired',
  elsewhere: 'destination_mismatch',
};
const refusalIn = ({ body }: { body: string }) => /<dd class="code">sso\.([a-z_]+)</.exec(body)?.[1];

function leadingTo({ headers }: { headers: Record<string, unknown> }): string {
  const { origin, pathname } = new URL(String(headers.location));
  return origin + pathname;
}

const wrongs: Record<string, (claims: Record<string, unknown>) => Record<string, unknown>> = {
  audience: () => ({ aud: 'another' }),
  issuer: () => ({ iss: 'https://evil.example' }),
  nonce: () => ({ nonce: 'the nonce' }),
  events: () => ({ events: {} }),
  nobody: () => ({ sub: undefined, sid: undefined }),
  age: ({ iat }) => ({ iat: Number(iat) - hours(2) / 1000, exp: undefined }),
};

/** The OpenID provider reports a sign-out of its own by a logout token, or something comes that looks like it. */
export async function openIdLogout(it: World): Promise<string> {
  const { random, oidc, service, connections, now } = it;
  const by = connections[1] as LiveConnection;
  const { of, index, owner } = someEnd(it, by);
  const saysWho = index === null || random.below(2) === 0;
  const iat = Math.floor(now() / 1000);
  const wrong = random.below(3) === 0 ? random.of(Object.keys(wrongs)) : null;
  const right = {
    ...{ iat, exp: iat + 120, jti: randomUUID(), events: logoutEvent },
    ...{ sub: saysWho ? of.name : undefined, sid: index ?? undefined },
  };
  const token = await oidc.idToken({ ...right, ...(wrong && wrongs[wrong]?.(right)) }, { typ: 'logout+jwt' });
  const say = () => service.browser().post(`/sso/oidc/${by.id}/backchannel-logout`, { logout_token: token });
  const answer = await say();
  if (wrong !== null) {
    expect([wrong, answer.statusCode]).toEqual([wrong, 400]);
    return `wrong ${wrong}`;
  }
  expect(answer.statusCode).toBe(200);
  const whose = saysWho ? of : null;
  report(it, by, { of: whose, indexes: index === null ? [] : [index], ifUnknown: 'unnamed' });
  forget(it, index, whose);
  if (random.below(3) === 0) it.repeats.push(say);
  return `${saysWho ? of.email : 'somebody'} ${index} (of ${owner?.email})`;
}

/** A logout token comes once more, also after its person has signed in again: it is answered alike, and ends nothing. */
export async function openIdLogoutAgain(it: World): Promise<string> {
  const say = it.repeats.pop();
  if (!say) return 'nothing';
  const { statusCode } = await say();
  // After its two minutes it is late.
  expect([200, 400]).toContain(statusCode);
  return `${statusCode}`;
}
