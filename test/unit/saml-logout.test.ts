import { createSign, randomUUID } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { SsoConnection } from '../../entities/sso-connection.js';
import type { SsoRefusal } from '../../src/domain/sso-protocols/assertion.js';
import { createSamlProtocol } from '../../src/domain/sso-protocols/saml/protocol.js';
import { newProviderKey, type ProviderKey, posted, sign } from '../support/saml-provider.js';

const baseUrl = 'https://id.gatehouse.example';
const now = new Date('2026-11-22T10:00:00.000Z');
const later = (ms: number) => new Date(now.getTime() + ms);
let key: ProviderKey;
let other: ProviderKey;
let ours: ProviderKey;
let connection: SsoConnection;
beforeAll(async () => {
  [key, other, ours] = await Promise.all([newProviderKey(), newProviderKey(), newProviderKey()]);
  connection = {
    id: randomUUID(),
    samlEntityId: 'https://idp.example',
    samlSsoUrl: 'https://idp.example/sso',
    samlSloUrl: 'https://idp.example/slo?x=1',
    samlSigningCert: key.certificate,
  } as SsoConnection;
});

const protocol = createSamlProtocol({ baseUrl, keyOf: async () => ours, now: () => now });
interface Parts {
  issuer?: string;
  destination?: string;
  issueInstant?: Date;
  notOnOrAfter?: Date | null;
  content?: string;
}
function requestXml({
  issuer = 'https://idp.example',
  issueInstant = now,
  notOnOrAfter = later(60_000),
  ...rest
}: Parts = {}) {
  const { destination = `${baseUrl}/sso/saml/${connection.id}/slo` } = rest;
  const { content = '<saml:NameID>ana@acme.example</saml:NameID><samlp:SessionIndex>_s1</samlp:SessionIndex>' } = rest;
  const until = notOnOrAfter ? ` NotOnOrAfter="${notOnOrAfter.toISOString()}"` : '';
  return `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_logout" Version="2.0" IssueInstant="${issueInstant.toISOString()}" Destination="${destination}"${until}><saml:Issuer>${issuer}</saml:Issuer>${content}</samlp:LogoutRequest>`;
}

const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
function query(xml: string, { privateKey }: ProviderKey, { sigAlg = rsaSha256, relayState = 'a b/c' } = {}) {
  const written = [
    `SAMLRequest=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`,
    `RelayState=${encodeURIComponent(relayState)}`,
    `SigAlg=${encodeURIComponent(sigAlg)}`,
  ].join('&');
  const signature = createSign('RSA-SHA256').update(written).sign(privateKey, 'base64');
  return `${written}&Signature=${encodeURIComponent(signature)}`;
}
const signed = (parts: Parts = {}, by: ProviderKey = key) => posted(sign(requestXml(parts), 'LogoutRequest', by));
const byQuery = (text: string) => protocol.verifyLogout(connection, { query: text });
const byForm = (samlRequest: string) => protocol.verifyLogout(connection, { samlRequest });
const refused = (answer: Promise<unknown>, code: SsoRefusal | RegExp) =>
  expect(answer).rejects.toMatchObject({ code: typeof code === 'string' ? code : expect.stringMatching(code) });

const meant = {
  id: '_logout',
  subject: 'ana@acme.example',
  sessionIndexes: ['_s1'],
  once: { id: '_logout', until: later(120_000) },
};

test('a signed request says whose session has ended, by redirect and by form', async () => {
  expect(await byQuery(query(requestXml(), key))).toEqual(meant);
  expect(await byForm(signed())).toEqual(meant);
});

describe.each([
  ['by redirect', (parts: Parts, by?: ProviderKey) => byQuery(query(requestXml(parts), by ?? key))],
  ['by form', (parts: Parts, by?: ProviderKey) => byForm(signed(parts, by))],
])('%s, a request is refused that', (_, send) => {
  test('is signed by another key', () => refused(send({}, other), 'signature_invalid'));
  test('is from another provider', () => refused(send({ issuer: 'https://evil.example' }), 'issuer_mismatch'));
  test('was sent to somewhere else', () => refused(send({ destination: `${baseUrl}/x` }), 'destination_mismatch'));
  test('is over, or old, or of the future', async () => {
    await refused(send({ notOnOrAfter: later(-61_000) }), 'expired');
    await refused(send({ notOnOrAfter: null, issueInstant: later(-361_000) }), 'expired');
    await refused(send({ issueInstant: later(61_000) }), 'not_yet_valid');
  });
  test('names nobody, or somebody twice', async () => {
    await refused(send({ content: '' }), /subject_missing|malformed/);
    await refused(send({ content: '<saml:NameID>a</saml:NameID><saml:NameID>b</saml:NameID>' }), /malformed/);
  });
});

test('an unsigned request is refused, and one that is signed with SHA-1', async () => {
  const whole = query(requestXml(), key);
  await refused(byQuery(whole.slice(0, whole.indexOf('&Signature'))), 'unsigned');
  await refused(
    byQuery(query(requestXml(), key, { sigAlg: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' })),
    'algorithm_refused',
  );
  await refused(byQuery(query(requestXml(), key, { sigAlg: 'constructor' })), 'algorithm_refused');
  await refused(byForm(posted(requestXml())), 'unsigned');
});

test('nothing of a query can be changed or added to after it was signed', async () => {
  const whole = query(requestXml(), key);
  await refused(byQuery(whole.replace('RelayState=a', 'RelayState=b')), 'signature_invalid');
  await refused(byQuery(`SAMLRequest=x&${whole}`), 'malformed');
  await refused(byQuery(`${whole}&RelayState=x`), 'malformed');
  await refused(byQuery(whole.replace('RelayState=', 'RelayState=%')), 'malformed');
});

test('what is inflated to more than any request is not read', async () => {
  const bomb = `${requestXml()}<!--${'x'.repeat(10_000_000)}-->`;
  await refused(byQuery(query(bomb, key)), 'malformed');
});

test('our answer says which request it answers, signed, with the state that came', async () => {
  const url = new URL((await protocol.answerLogout(connection, { id: '_logout', relayState: 'a/b' })) ?? '');
  expect(url.origin + url.pathname).toBe('https://idp.example/slo');
  expect(url.searchParams.get('RelayState')).toBe('a/b');
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLResponse') ?? '', 'base64')).toString();
  expect(xml).toContain('InResponseTo="_logout"');
  expect(xml).toContain('urn:oasis:names:tc:SAML:2.0:status:Success');
  expect(url.searchParams.get('SigAlg')).toBe(rsaSha256);
  const without = { ...connection, samlSloUrl: null };
  expect(await protocol.answerLogout(without, { id: '_logout', relayState: null })).toBeNull();
});
