import { createVerify, randomUUID } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import type { SsoConnection } from '../../entities/sso-connection.js';
import type { SsoRefusal } from '../../src/domain/sso-protocols/assertion.js';
import { createSamlProtocol } from '../../src/domain/sso-protocols/saml/protocol.js';
import { leavingIn, logoutRequestXml, logoutResponseXml, signedQuery } from '../support/saml/logout.js';
import { asOurs, newProviderKey, type ProviderKey, posted, rsaSha256, sign } from '../support/saml/provider.js';

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

const protocol = createSamlProtocol({ baseUrl, keyOf: async () => asOurs(ours), now: () => now });
interface Parts {
  issuer?: string;
  destination?: string;
  issueInstant?: Date;
  notOnOrAfter?: Date | null;
  content?: string;
}
const sloUrl = () => `${baseUrl}/sso/saml/${connection.id}/slo`;
const requestXml = ({ content, ...parts }: Parts = {}) =>
  logoutRequestXml({
    id: '_logout',
    issuer: 'https://idp.example',
    destination: sloUrl(),
    issueInstant: now,
    notOnOrAfter: later(60_000),
    content: content ?? '<saml:NameID>ana@acme.example</saml:NameID><samlp:SessionIndex>_s1</samlp:SessionIndex>',
    ...parts,
  });
const query = (xml: string, by: ProviderKey, choices?: { sigAlg: string }) =>
  signedQuery('SAMLRequest', xml, by, choices);
const signed = (parts: Parts = {}, by: ProviderKey = key) => posted(sign(requestXml(parts), 'LogoutRequest', by));
const byQuery = (text: string) => protocol.verifyLogout(connection, { query: text });
const byForm = (samlRequest: string) => protocol.verifyLogout(connection, { form: samlRequest });
const refused = (answer: Promise<unknown>, code: SsoRefusal | RegExp) =>
  expect(answer).rejects.toMatchObject({ code: typeof code === 'string' ? code : expect.stringMatching(code) });

const meant = {
  id: '_logout',
  subject: 'ana@acme.example',
  sessionIndexes: ['_s1'],
  once: { id: '_logout', until: later(120_000) },
};

test('a signed request names the ended session’s person, by redirect and by form', async () => {
  expect(await byQuery(query(requestXml(), key))).toEqual(meant);
  expect(await byForm(signed())).toEqual(meant);
});

describe.each([
  ['by redirect', (parts: Parts, by?: ProviderKey) => byQuery(query(requestXml(parts), by ?? key))],
  ['by form', (parts: Parts, by?: ProviderKey) => byForm(signed(parts, by))],
])('%s, a request is refused that', (_, send) => {
  test('is signed by another key', () => refused(send({}, other), 'signature_invalid'));
  test('is from another provider', () => refused(send({ issuer: 'https://evil.example' }), 'issuer_mismatch'));
  test('was sent to another destination', () => refused(send({ destination: `${baseUrl}/x` }), 'destination_mismatch'));
  test('has expired, or is old, or from the future', async () => {
    await refused(send({ notOnOrAfter: later(-61_000) }), 'expired');
    await refused(send({ notOnOrAfter: null, issueInstant: later(-361_000) }), 'expired');
    await refused(send({ issueInstant: later(61_000) }), 'not_yet_valid');
  });
  test('names nobody, or two people', async () => {
    await refused(send({ content: '' }), /subject_missing|malformed/);
    await refused(send({ content: '<saml:NameID>a</saml:NameID><saml:NameID>b</saml:NameID>' }), /malformed/);
  });
});

test('a request with an encrypted name is refused, with that reason', async () => {
  const content =
    '<saml:EncryptedID><xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#"/></saml:EncryptedID>';
  await refused(byQuery(query(requestXml({ content }), key)), 'encryption_unsupported');
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

test('nothing in a query can be changed or added after it was signed', async () => {
  const whole = query(requestXml(), key);
  await refused(byQuery(whole.replace('RelayState=a', 'RelayState=b')), 'signature_invalid');
  await refused(byQuery(`SAMLRequest=x&${whole}`), 'malformed');
  await refused(byQuery(`${whole}&RelayState=x`), 'malformed');
  await refused(byQuery(whole.replace('RelayState=', 'RelayState=%')), 'malformed');
});

test('a query that inflates to more than any request is not read', async () => {
  const bomb = `${requestXml()}<!--${'x'.repeat(10_000_000)}-->`;
  await refused(byQuery(query(bomb, key)), 'malformed');
});

test('our answer names its request, signed, with the state that came', async () => {
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

test('our answer goes where the provider wants responses, and says so; our request does not', async () => {
  const elsewhere = { ...connection, samlSloResponseUrl: 'https://idp.example/back?tenant=1' };
  const url = new URL((await protocol.answerLogout(elsewhere, { id: '_logout', relayState: null })) ?? '');
  expect([url.origin + url.pathname, url.searchParams.get('tenant')]).toEqual(['https://idp.example/back', '1']);
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLResponse') ?? '', 'base64')).toString();
  expect(xml).toContain('Destination="https://idp.example/back?tenant=1"');
  const nameId = { value: 'ana', format: 'x', nameQualifier: null, spNameQualifier: null };
  const handle = { protocol: 'saml', nameId, sessionIndex: null } as const;
  const left = await protocol.leave(elsewhere, { logoutId: 'the-row', state: 'the-state', handle });
  expect(leavingIn(left ?? '').at).toBe('https://idp.example/slo');
});

test('a provider that only takes responses gets ours, and no request', async () => {
  const only = { ...connection, samlSloUrl: null, samlSloResponseUrl: 'https://idp.example/back' };
  const url = new URL((await protocol.answerLogout(only, { id: '_logout', relayState: null })) ?? '');
  expect(url.origin + url.pathname).toBe('https://idp.example/back');
  const nameId = { value: 'ana', format: 'x', nameQualifier: null, spNameQualifier: null };
  const handle = { protocol: 'saml', nameId, sessionIndex: null } as const;
  expect(await protocol.leave(only, { logoutId: 'the-row', state: 'the-state', handle })).toBeNull();
});

test.each(['sha256', 'sha512'])(
  'our signature with %s covers the query as it is written, whatever the state contains',
  async (hash) => {
    const signing = { ...connection, samlSignatureAlgorithm: hash };
    const url = new URL((await protocol.answerLogout(signing, { id: '_logout', relayState: "a b+c/d~é'(!)*" })) ?? '');
    const [, signed, signature] = /[?&](SAMLResponse=.*)&Signature=(.*)$/.exec(url.search) ?? [];
    expect(signed).toMatch(/^SAMLResponse=[^&]+&RelayState=[^&]+&SigAlg=[^&]+$/);
    expect(url.searchParams.get('SigAlg')).toBe(`http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`);
    const verifier = createVerify(`RSA-${hash.toUpperCase()}`).update(signed as string);
    expect(verifier.verify(ours.certificate, decodeURIComponent(signature as string), 'base64')).toBe(true);
  },
);

describe('our sign-out at a provider', () => {
  const nameId = {
    value: 'ana&<b>@acme.example',
    format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    nameQualifier: 'https://idp.example',
    spNameQualifier: null,
  };
  const leaving = (sessionIndex: string | null = '_s1') =>
    protocol.leave(connection, {
      logoutId: 'the-row',
      state: 'the-state',
      handle: { protocol: 'saml', nameId, sessionIndex },
    });

  test('names the person and the session as the provider does, signed, and at its own address for that', async () => {
    const url = (await leaving()) ?? '';
    expect(leavingIn(url)).toMatchObject({
      at: 'https://idp.example/slo',
      id: '_the-row',
      sessionIndex: '_s1',
      relayState: 'the-state',
      nameId: 'ana&amp;&lt;b&gt;@acme.example',
      xml: expect.stringMatching(/NameQualifier="https:\/\/idp\.example"/),
    });
    expect(new URL(url).searchParams.get('SigAlg')).toBe(rsaSha256);
    expect(leavingIn((await leaving(null)) ?? '').sessionIndex).toBeUndefined();
    const nowhere = { ...connection, samlSloUrl: null };
    const handle = { protocol: 'saml', nameId, sessionIndex: null } as const;
    expect(await protocol.leave(nowhere, { logoutId: 'the-row', state: 'the-state', handle })).toBeNull();
  });

  const answerXml = (parts: Partial<Parameters<typeof logoutResponseXml>[0]> = {}) =>
    logoutResponseXml({
      issuer: 'https://idp.example',
      destination: sloUrl(),
      inResponseTo: '_the-row',
      issueInstant: now,
      ...parts,
    });
  const left = (message: { query: string } | { form: string }) => protocol.verifyLeft(connection, 'the-row', message);

  describe.each([
    [
      'by redirect',
      (parts: Parameters<typeof answerXml>[0], by = key) =>
        left({ query: signedQuery('SAMLResponse', answerXml(parts), by) }),
    ],
    [
      'by form',
      (parts: Parameters<typeof answerXml>[0], by = key) =>
        left({ form: posted(sign(answerXml(parts), 'LogoutResponse', by)) }),
    ],
  ])('%s, an answer', (_, send) => {
    test('is accepted', () => expect(send({})).resolves.toBeUndefined());
    test('is refused with another key, provider, destination, request or time, and if the person is not signed out', async () => {
      await refused(send({}, other), 'signature_invalid');
      await refused(send({ issuer: 'https://evil.example' }), 'issuer_mismatch');
      await refused(send({ destination: `${baseUrl}/x` }), 'destination_mismatch');
      await refused(send({ inResponseTo: '_another' }), 'in_response_to_mismatch');
      await refused(send({ issueInstant: later(61_000) }), 'not_yet_valid');
      await refused(send({ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }), 'status_not_success');
    });
  });

  test('an answer is refused that is not signed, or is a request', async () => {
    const whole = signedQuery('SAMLResponse', answerXml(), key);
    await refused(left({ query: whole.slice(0, whole.indexOf('&Signature')) }), 'unsigned');
    await refused(left({ form: posted(answerXml()) }), 'unsigned');
    await refused(left({ query: query(requestXml(), key) }), /signature_invalid|malformed/);
    await refused(left({ form: signed() }), 'malformed');
  });
});
