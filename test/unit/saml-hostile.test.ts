import type { SsoConnection } from '../../entities/sso-connection.js';
import { type SsoRefusal, SsoRefused } from '../../src/domain/sso-protocols/assertion.js';
import { assertionXml, posted, responseXml, sign, signedResponse } from '../support/saml/provider.js';
import { newSamlReceiver } from '../support/saml/receiver.js';

const receiver = await newSamlReceiver();
const { key, parts } = receiver;

const post = (samlResponse: string, as: Partial<SsoConnection> = {}) => receiver.verify(samlResponse, { as });
const refused = (xml: string, code: SsoRefusal) => expect(post(posted(xml))).rejects.toMatchObject({ code });

/** Returns the pieces of an honest answer, to be combined in another way. */
function pieces() {
  const honest = parts();
  const assertion = sign(assertionXml(honest), 'Assertion', key);
  const signature = /<Signature .*<\/Signature>/s.exec(assertion)?.[0] ?? '';
  const bare = assertion.replace(signature, '');
  const evil = assertionXml(parts({ nameId: 'eve@acme.example', assertionId: '_evil' }));
  const into = (xml: string, what: string) => xml.replace('</saml:Issuer>', `</saml:Issuer>${what}`);
  const close = (xml: string, what: string) => xml.replace(/<\/saml:Assertion>$/, `${what}</saml:Assertion>`);
  const withObject = (what: string) => signature.replace('</Signature>', `<Object>${what}</Object></Signature>`);
  return { honest, assertion, signature, bare, evil, into, close, withObject };
}

describe('a signature that is wrapped around something else (XSW) is refused', () => {
  const wrapped: Record<string, (piece: ReturnType<typeof pieces>) => string> = {
    'another assertion before the signed one': ({ evil, assertion }) => evil + assertion,
    'another assertion after the signed one': ({ evil, assertion }) => assertion + evil,
    'the signed assertion inside of another': ({ evil, assertion, close }) => close(evil, assertion),
    'another assertion inside of the signed one': ({ evil, assertion, close }) => close(assertion, evil),
    'the signature in another assertion, beside the signed one': ({ evil, bare, signature, into }) =>
      into(evil, signature) + bare,
    'the signed assertion in the Object of its signature, in another': ({ evil, bare, into, withObject }) =>
      into(evil, withObject(bare)),
    'another assertion in Extensions, the signed one in its place': ({ evil, assertion }) =>
      `<samlp:Extensions>${evil}</samlp:Extensions>${assertion}`,
    'the signed assertion in Extensions, another in its place': ({ evil, assertion }) =>
      `<samlp:Extensions>${assertion}</samlp:Extensions>${evil}`,
    'the signed assertion in the Advice of another': ({ evil, assertion, close }) =>
      close(evil, `<saml:Advice>${assertion}</saml:Advice>`),
    'another assertion under the id of the signed one': ({ honest, evil, assertion }) =>
      evil.replace('_evil', honest.assertionId) + assertion,
    'another assertion, in a namespace of its own': ({ evil, assertion }) =>
      evil.replace('urn:oasis:names:tc:SAML:2.0:assertion', 'urn:x') + assertion,
    'the signature in the response, of the assertion': ({ evil, signature }) => signature + evil,
  };
  test.each(Object.entries(wrapped))('%s', async (_, wrap) => {
    const xml = responseXml(parts(), wrap(pieces()));
    const refusal = await post(posted(xml)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SsoRefused);
    expect(['malformed', 'signature_invalid', 'unsigned']).toContain((refusal as SsoRefused).code);
  });

  test('a signed response inside of another one', async () => {
    const honest = sign(responseXml(parts(), assertionXml(parts())), 'Response', key);
    const signature = /<Signature .*<\/Signature>/s.exec(honest)?.[0] ?? '';
    const evil = responseXml(parts({ responseId: '_evil' }), assertionXml(parts({ nameId: 'eve@acme.example' })));
    const inObject = signature.replace('</Signature>', `<Object>${honest.replace(signature, '')}</Object></Signature>`);
    const beside = evil.replace('</saml:Issuer><samlp:Status>', `</saml:Issuer>${signature}${honest}<samlp:Status>`);
    for (const xml of [
      beside,
      evil.replace('</saml:Issuer><samlp:Status>', `</saml:Issuer>${inObject}<samlp:Status>`),
    ]) {
      await expect(post(posted(xml), { samlWantAssertionsSigned: false })).rejects.toBeInstanceOf(SsoRefused);
    }
  });

  test('an assertion with two signatures, or one that refers to two elements, or has two SignedInfo', async () => {
    const { assertion, signature, honest, into } = pieces();
    const reference = /<Reference .*<\/Reference>/s.exec(signature)?.[0] ?? '';
    const info = /<SignedInfo>.*<\/SignedInfo>/s.exec(signature)?.[0] ?? '';
    await refused(responseXml(honest, into(assertion, signature)), 'signature_invalid');
    await refused(responseXml(honest, assertion.replace(reference, reference + reference)), 'signature_invalid');
    await refused(responseXml(honest, assertion.replace(info, info + info)), 'malformed');
  });

  test('a digest behind a comment', async () => {
    const { assertion, honest } = pieces();
    const evil = assertion.replace('ana@acme', 'eve@acme').replace('<DigestValue>', '<DigestValue><!--AAAA-->');
    await refused(responseXml(honest, evil), 'signature_invalid');
  });

  test('the signature of the whole document, or of nothing', async () => {
    const { assertion, honest } = pieces();
    const about = (uri: string) => assertion.replace(/URI="[^"]*"/, `URI="${uri}"`);
    for (const uri of ['', `#xpointer(/)`, `${honest.assertionId}`, '#_other']) {
      await refused(responseXml(honest, about(uri)), 'signature_invalid');
    }
  });
});

describe('signed content without what it is checked by is refused', () => {
  const without = (part: RegExp | string) => (assertion: string) => {
    expect(assertion).toMatch(part);
    return assertion.replace(part, '');
  };
  const lacking: Record<string, [SsoRefusal, (assertion: string) => string]> = {
    'its version': ['malformed', without(' Version="2.0"')],
    'the time when it was issued': ['malformed', without(/ IssueInstant="[^"]*"/)],
    'a subject': ['subject_missing', without(/<saml:Subject>.*<\/saml:Subject>/)],
    conditions: ['audience_mismatch', without(/<saml:Conditions.*<\/saml:Conditions>/)],
    'an audience': ['audience_mismatch', without(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/)],
    'the name of an attribute': ['malformed', without(' Name="givenName"')],
    'an entity as its issuer': [
      'issuer_mismatch',
      (assertion) => assertion.replace('<saml:Issuer>', '<saml:Issuer Format="urn:x">'),
    ],
    'a short name of an attribute': ['too_large', (assertion) => assertion.replace('givenName', 'x'.repeat(5_000))],
  };
  test.each(Object.entries(lacking))('%s', async (_, [code, change]) => {
    const about = parts();
    await refused(responseXml(about, sign(change(assertionXml(about)), 'Assertion', key)), code);
  });

  test('an answer without a status, or without an assertion', async () => {
    await refused(without(/<samlp:Status>.*<\/samlp:Status>/)(signedResponse(parts(), key)), 'malformed');
    await refused(without(/ Value="[^"]*"/)(signedResponse(parts(), key)), 'malformed');
    await refused(responseXml(parts(), ''), 'malformed');
  });

  test('a signature of one of several elements with one id, with something inside, or made in too many steps', async () => {
    const { honest, assertion, bare, into, withObject } = pieces();
    const beside = `<samlp:Extensions ID="${honest.assertionId}"/>`;
    await refused(responseXml(honest, beside + assertion), 'signature_invalid');
    await refused(responseXml(honest, into(bare, withObject('x'))), 'signature_invalid');
    const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
    const transforms = ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive, exclusive];
    await refused(signedResponse(parts(), key, { transforms }), 'signature_invalid');
  });
});

describe('ambiguous XML', () => {
  test('a comment inside of the NameID does not shorten it', async () => {
    const xml = signedResponse(parts({ nameId: 'ana@acme.example<!-- -->.evil.example' }), key);
    expect((await post(posted(xml))).subject).toBe('ana@acme.example.evil.example');
    // Inserted afterwards, it does not break the signature, and changes nothing.
    const added = signedResponse(parts(), key).replace('ana@acme.example', 'ana@<!-- x -->acme.example');
    expect((await post(posted(added))).subject).toBe('ana@acme.example');
  });

  test('neither does a comment in an attribute, nor CDATA', async () => {
    const attributes = { mail: ['ceo@acme.example<!-- -->.evil.example'], other: ['<![CDATA[a<b]]>c'] };
    const answer = await post(posted(signedResponse(parts({ attributes }), key)));
    expect(answer.attributes).toEqual({ mail: ['ceo@acme.example.evil.example'], other: ['a<bc'] });
  });

  test('a NameID with an element in it is refused', () =>
    refused(
      signedResponse(parts({ nameId: 'ana@acme.example<x xmlns="urn:x">.evil.example</x>' }), key),
      'subject_missing',
    ));

  test('a DOCTYPE is refused, with entities or without', async () => {
    const xml = signedResponse(parts(), key);
    const bomb = `<!DOCTYPE r [${'<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'.repeat(3)}]>`;
    for (const type of [
      '<!DOCTYPE r>',
      '<!doctype r>',
      bomb,
      '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ]) {
      await refused(type + xml, 'malformed');
      await refused(`<?xml version="1.0"?>\n${type}${xml}`, 'malformed');
    }
  });

  test('an entity that XML does not define is refused, and the five that it does are read', async () => {
    await refused(signedResponse(parts(), key).replace('ana@acme', '&ana;'), 'malformed');
    const known = await post(posted(signedResponse(parts({ nameId: '&lt;a&amp;b&gt;@acme.example' }), key)));
    expect(known.subject).toBe('<a&b>@acme.example');
  });

  test('a processing instruction is refused', () =>
    refused(signedResponse(parts(), key).replace('ana@acme', 'ana@<?x y?>acme'), 'malformed'));

  test.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['an element that is not closed', '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">'],
    ['two roots', '<a/><b/>'],
    ['another message', '<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Version="2.0"/>'],
    ['an attribute that occurs twice', '<a b="1" b="2"/>'],
    ['an attribute without quotes', '<a b=1/>'],
    ['an undeclared prefix', '<samlp:Response Version="2.0"/>'],
    ['HTML', '<html><body>Please sign in<br></body></html>'],
    ['a null character', '<a>\u0000</a>'],
  ])('%s is refused', (_, xml) => refused(xml, 'malformed'));
});

describe('bytes', () => {
  test('that are no base64, or no UTF-8, are refused', async () => {
    const refusedBytes = (samlResponse: string) =>
      expect(post(samlResponse)).rejects.toMatchObject({ code: 'malformed' });
    await refusedBytes('%%%');
    await refusedBytes('PHg-');
    await refusedBytes(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e]).toString('base64'));
    await refusedBytes(Buffer.from(signedResponse(parts(), key), 'utf16le').toString('base64'));
  });

  test('of an honest answer may come in lines, and with a byte order mark', async () => {
    const lines = posted(`\uFEFF<?xml version="1.0" encoding="UTF-8"?>\r\n${signedResponse(parts(), key)}`);
    await expect(post(lines.replace(/.{76}/g, '$&\r\n'))).resolves.toBeDefined();
  });

  test('may have other line ends after transport, which XML treats as equal', async () => {
    const signed = signedResponse(parts({ attributes: { street: ['Long Lane 1\nLondon'] } }), key);
    const { attributes } = await post(posted(signed.replaceAll('\n', '\r\n')));
    expect(attributes).toEqual({ street: ['Long Lane 1\nLondon'] });
  });

  test('that are too long, too deep or have too many elements are not read', async () => {
    const deep = (n: number) => `${'<a>'.repeat(n)}${'</a>'.repeat(n)}`;
    await refused(`<a>${'x'.repeat(300_000)}</a>`, 'too_large');
    await refused(`<a>${'x'.repeat(3_000_000)}</a>`, 'too_large');
    await refused(deep(1_000), 'too_large');
    await refused(deep(30_000), 'too_large');
    await refused(`<a>${'<b/>'.repeat(20_000)}</a>`, 'too_large');
    await refused(`<a ${Array.from({ length: 100 }, (_, n) => `b${n}=""`).join(' ')}/>`, 'too_large');
    const attributes = { many: Array.from({ length: 1_001 }, () => 'x') };
    await refused(signedResponse(parts({ attributes }), key), 'too_large');
    await refused(signedResponse(parts({ nameId: 'x'.repeat(600) }), key), 'too_large');
  });
});
