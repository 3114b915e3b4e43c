import { type SsoRefusal, SsoRefused } from '../../src/domain/sso-protocols/assertion.js';
import { type Encrypting, encrypted, oaepMgf1p, oaepOf, xenc, xenc11 } from '../support/saml/encryption.js';
import { assertionXml, posted, responseXml, sign, signedResponse } from '../support/saml/provider.js';
import { type Answered, newSamlReceiver } from '../support/saml/receiver.js';

const receiver = await newSamlReceiver();
const { key, parts } = receiver;

const verify = (xml: string, answered: Answered = {}) => receiver.verify(posted(xml), answered);
const refusalOf = async (xml: string, answered: Answered = {}): Promise<SsoRefused> => {
  const refusal = await verify(xml, answered).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(SsoRefused);
  return refusal as SsoRefused;
};
const refused = async (xml: string, code: SsoRefusal, answered: Answered = {}) =>
  expect((await refusalOf(xml, answered)).code).toBe(code);

const signedAssertion = (about = parts()) => sign(assertionXml(about), 'Assertion', key);
const toUs = (plain: string | Buffer, choices: Encrypting = {}) => encrypted(plain, receiver.ours.certificate, choices);
/** Returns an answer with its assertion signed, and encrypted. */
const answer = (choices: Encrypting = {}, about = parts()) => responseXml(about, toUs(signedAssertion(about), choices));
const wholly = (xml: string, by = key) => sign(xml, 'Response', by);
const [cbc, sha256] = [{ cipher: 'aes-256-cbc' } as const, `${xenc}sha256`];
const oaep256 = { oaepHash: 'sha256', keyMethod: oaepOf(sha256, `${xenc11}mgf1sha256`) } as const;

describe('an encrypted answer', () => {
  test('says what it would say unencrypted', async () => {
    const about = parts();
    expect(await verify(answer({}, about))).toEqual(await verify(signedResponse(about, key)));
  });

  test.each<[string, Encrypting]>([
    ['AES-128-GCM', { cipher: 'aes-128-gcm' }],
    ['AES-256-GCM', { cipher: 'aes-256-gcm' }],
    ['RSA-OAEP of SHA-256', oaep256],
    ['RSA-OAEP of SHA-512', { oaepHash: 'sha512', keyMethod: oaepOf(`${xenc}sha512`, `${xenc11}mgf1sha512`) }],
    ['RSA-OAEP that names no digest', { keyMethod: oaepMgf1p.replace(`${xenc}rsa-oaep-mgf1p`, `${xenc11}rsa-oaep`) }],
  ])('may be encrypted by %s', async (_, choices) => {
    await expect(verify(answer(choices))).resolves.toMatchObject({ subject: 'ana@acme.example' });
    await expect(verify(wholly(answer(choices)))).resolves.toMatchObject({ subject: 'ana@acme.example' });
  });

  test.each<Encrypting>([{ cipher: 'aes-128-cbc' }, cbc])(
    'may be encrypted by $cipher if it is signed as a whole',
    (choices) => expect(verify(wholly(answer(choices)))).resolves.toMatchObject({ subject: 'ana@acme.example' }),
  );

  test('may be signed only as a whole if the connection allows it', async () => {
    const as = { samlWantAssertionsSigned: false };
    const xml = wholly(responseXml(parts(), toUs(assertionXml(parts()), cbc)));
    await expect(verify(xml, { as })).resolves.toMatchObject({ subject: 'ana@acme.example' });
    await refused(xml, 'unsigned');
  });

  test('may have its key beside it, among those for others', async () => {
    const here = ` Id="_key" Recipient="${receiver.entityId}"`;
    const info = `<ds:RetrievalMethod Type="${xenc}EncryptedKey" URI="#_key"/>`;
    const another = `<xenc:EncryptedKey xmlns:xenc="${xenc}" Id="_other" Recipient="https://x.example">${oaepMgf1p}<xenc:CipherData><xenc:CipherValue>AAAA</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey>`;
    for (const choices of [
      { place: 'beside' },
      { place: 'beside', keyAttributes: here, info },
      { place: 'beside', keyAttributes: here, more: another },
      { keyAttributes: here, more: another },
      { more: another },
    ] as Encrypting[]) {
      await expect(verify(answer(choices))).resolves.toBeDefined();
    }
  });
});

describe('is refused before it is decrypted, with the reason,', () => {
  test.each<[string, string, Encrypting]>([
    ['AES-CBC in an unsigned response', 'aes-256-cbc', cbc],
    ['RSA 1.5', 'rsa-1_5', { padding: 'pkcs1', keyMethod: `<xenc:EncryptionMethod Algorithm="${xenc}rsa-1_5"/>` }],
    ['triple DES', 'tripledes-cbc', { algorithm: `${xenc}tripledes-cbc` }],
    ['a cipher without a name', 'nothing named', { algorithm: '' }],
    [
      'a hash, and a mask of another hash',
      'sha256',
      { oaepHash: 'sha256', keyMethod: oaepOf(sha256, `${xenc11}mgf1sha1`) },
    ],
    [
      'a label',
      'OAEPparams',
      { keyMethod: oaepMgf1p.replace('/>', '><xenc:OAEPparams>AAAA</xenc:OAEPparams></xenc:EncryptionMethod>') },
    ],
    ['an unknown digest', 'md5', { keyMethod: oaepOf('urn:md5', `${xenc11}mgf1sha1`) }],
  ])('%s', async (_, named, choices) => {
    const refusal = await refusalOf(answer(choices));
    expect([refusal.code, refusal.message]).toEqual(['algorithm_refused', expect.stringContaining(named)]);
  });

  test('a response whose signature is wrong, whatever is in it', async () => {
    await refused(wholly(answer(cbc), receiver.other), 'signature_invalid');
    const [honest, evil] = [
      toUs(signedAssertion(), cbc),
      toUs(signedAssertion(parts({ nameId: 'eve@acme.example' })), cbc),
    ];
    await refused(
      wholly(responseXml(parts(), honest)).replace(
        /<xenc:CipherData>.*<\/xenc:CipherData>/s,
        /<xenc:CipherData>.*<\/xenc:CipherData>/s.exec(evil)?.[0] ?? '',
      ),
      'signature_invalid',
    );
  });

  test('content that is not encrypted, or not once', async () => {
    const content = `${xenc}Content`;
    for (const xml of [
      answer({ type: content }),
      answer({ place: 'beside', info: `<ds:RetrievalMethod URI="#_elsewhere"/>` }),
      answer({
        place: 'beside',
        keyAttributes: ' Id="_key"',
        info: `<ds:RetrievalMethod URI="#_key"><ds:Transforms/></ds:RetrievalMethod>`,
      }),
      answer({ keyAttributes: ' Recipient="https://x.example"' }),
      answer({ more: `<xenc:EncryptedKey xmlns:xenc="${xenc}"/>` }),
      answer({ content: () => Buffer.of() }),
      answer().replace(/<xenc:CipherData>.*?<\/xenc:CipherData>/s, ''),
      answer().replace(
        /<xenc:CipherData>.*?<\/xenc:CipherData>/s,
        '<xenc:CipherData><xenc:CipherReference URI="https://x.example"/></xenc:CipherData>',
      ),
      answer().replace(/<xenc:EncryptedData.*<\/xenc:EncryptedData>/s, ''),
      answer().replace('<xenc:CipherValue>', '<xenc:CipherValue>%'),
    ]) {
      await refused(xml, 'malformed');
    }
  });

  test('an answer of excessive length', () => refused(responseXml(parts(), toUs(Buffer.alloc(300_000))), 'too_large'));
});

describe('every failure of decryption looks the same:', () => {
  const flip = (at: number) => (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    const place = at < 0 ? changed.length + at : at;
    changed[place] = (changed[place] ?? 0) ^ 1;
    return changed;
  };
  test.each<[string, () => string]>([
    [
      'a key for another connection',
      () => responseXml(parts(), encrypted(signedAssertion(), receiver.other.certificate)),
    ],
    ['a changed tag', () => answer({ content: flip(-1) })],
    ['changed content', () => answer({ content: flip(40) })],
    ['a changed initialization vector', () => answer({ content: flip(0) })],
    ['a tag that was cut', () => answer({ content: (bytes) => bytes.subarray(0, -4) })],
    ['nothing but a tag', () => answer({ content: (bytes) => bytes.subarray(0, 20) })],
    ['a changed key', () => answer({ key: flip(7) })],
    ['a key that was cut', () => answer({ key: (bytes) => bytes.subarray(0, -1) })],
    ['a key of another length', () => answer({ algorithm: `${xenc11}aes128-gcm` })],
    ['another hash', () => answer({ ...oaep256, oaepHash: 'sha1' })],
    ['bytes that are no UTF-8', () => responseXml(parts(), toUs(Buffer.of(0x3c, 0xff)))],
    [
      'AES-CBC with an invalid padding',
      () =>
        wholly(
          answer({ ...cbc, content: (bytes) => bytes.subarray(0, -16) }, parts({ assertionId: `_${'x'.repeat(32)}` })),
        ),
    ],
    ['AES-CBC of no whole blocks', () => wholly(answer({ ...cbc, content: (bytes) => bytes.subarray(0, -1) }))],
    ['AES-CBC of nothing', () => wholly(answer({ ...cbc, content: (bytes) => bytes.subarray(0, 16) }))],
  ])('%s', async (_, xml) => {
    const refusal = await refusalOf(xml());
    expect([refusal.code, refusal.message]).toEqual([
      'decryption_failed',
      expect.stringMatching(/^It cannot be decrypted with the key of the connection: /),
    ]);
  });

  test('the provider is responsible if it has signed the response to this request', async () => {
    const broken = { key: flip(7) };
    expect((await refusalOf(wholly(answer(broken)))).isSigned).toBe(true);
    expect((await refusalOf(answer(broken))).isSigned).toBe(false);
    expect((await refusalOf(wholly(answer(broken, parts({ inResponseTo: '_another' }))))).isSigned).toBe(false);
  });
});

describe('the decrypted content', () => {
  const inside = (plain: string) => responseXml(parts(), toUs(plain));

  test('has to be signed, by the provider: anybody can encrypt', async () => {
    await refused(inside(assertionXml(parts())), 'unsigned');
    await refused(inside(sign(assertionXml(parts()), 'Assertion', receiver.other)), 'signature_invalid');
    await refused(inside(signedAssertion().replace('ana@acme', 'eve@acme')), 'signature_invalid');
    await refused(wholly(inside(signedAssertion().replace('ana@acme', 'eve@acme'))), 'signature_invalid');
  });

  test('is checked as an unencrypted one', async () => {
    await refused(answer({}, parts({ audience: 'https://x.example' })), 'audience_mismatch');
    await refused(answer({}, parts({ recipient: 'https://x.example' })), 'recipient_mismatch');
    await refused(answer({}, parts({ inResponseTo: '_another' })), 'in_response_to_mismatch');
    await refused(answer({}, parts({ destination: 'https://x.example' })), 'destination_mismatch');
    await refused(answer({}, parts({ notOnOrAfter: receiver.later(-61_000) })), 'expired');
    await refused(answer({}, parts({ issuer: 'https://x.example' })), 'issuer_mismatch');
  });

  test.each<[string, (assertion: string) => string]>([
    ['has a DOCTYPE', (assertion) => `<!DOCTYPE x [<!ENTITY a "b">]>${assertion}`],
    ['has a processing instruction', (assertion) => assertion.replace('<saml:Subject>', '<?x y?><saml:Subject>')],
    ['has something after it', (assertion) => `${assertion}<x/>`],
    ['is not well-formed', (assertion) => assertion.slice(0, -1)],
    ['inherits namespaces from around it', (assertion) => assertion.replace(/ xmlns:saml="[^"]*"/, '')],
    ['is nested too deeply', () => `${'<a>'.repeat(1_000)}${'</a>'.repeat(1_000)}`],
    ['is another message', (assertion) => responseXml(parts(), assertion)],
    [
      'is an assertion in an assertion',
      (assertion) => assertion.replace('<saml:Subject>', `<saml:Advice>${assertion}</saml:Advice><saml:Subject>`),
    ],
    [
      'is an assertion of another namespace',
      (assertion) => assertion.replace('SAML:2.0:assertion', 'SAML:1.0:assertion'),
    ],
    ['is encrypted once more', (assertion) => toUs(assertion)],
  ])('is refused if it %s', async (_, change) => {
    await refused(inside(change(signedAssertion())), 'decryption_failed');
  });

  test('is refused if a part of it is encrypted by itself', async () => {
    const part = (name: string) => `<saml:${name}><xenc:EncryptedData xmlns:xenc="${xenc}"/></saml:${name}>`;
    for (const change of [
      (xml: string) => xml.replace(/<saml:NameID.*<\/saml:NameID>/, part('EncryptedID')),
      (xml: string) =>
        xml.replace('<saml:AttributeStatement>', `<saml:AttributeStatement>${part('EncryptedAttribute')}`),
      (xml: string) =>
        xml.replace(
          '<saml:AuthnStatement',
          `<saml:Advice>${part('EncryptedAssertion')}</saml:Advice><saml:AuthnStatement`,
        ),
    ]) {
      const partly = sign(change(assertionXml(parts())), 'Assertion', key);
      await refused(inside(partly), 'encryption_unsupported');
    }
    const unencrypted = assertionXml(parts()).replace(/<saml:NameID.*<\/saml:NameID>/, part('EncryptedID'));
    await refused(responseXml(parts(), sign(unencrypted, 'Assertion', key)), 'encryption_unsupported');
  });
});

describe('an encrypted assertion that is wrapped (XSW) is refused', () => {
  const evil = () => assertionXml(parts({ nameId: 'eve@acme.example', assertionId: '_evil' }));
  const signatureOf = (xml: string) => /<Signature .*<\/Signature>/s.exec(xml)?.[0] ?? '';
  const wrapped: Record<string, (honest: string) => string> = {
    'two encrypted assertions': (honest) => responseXml(parts(), toUs(honest) + toUs(honest)),
    'another assertion in plain text before it': (honest) => responseXml(parts(), evil() + toUs(honest)),
    'another assertion in plain text after it': (honest) => responseXml(parts(), toUs(honest) + evil()),
    'a signed assertion in plain text besides another encrypted': (honest) =>
      responseXml(parts(), honest + toUs(evil())),
    'the signed one in Extensions, another encrypted in its place': (honest) =>
      responseXml(parts(), `<samlp:Extensions>${toUs(honest)}</samlp:Extensions>${toUs(evil())}`),
    'encrypted in Extensions alone': (honest) =>
      responseXml(parts(), `<samlp:Extensions>${toUs(honest)}</samlp:Extensions>`),
    'another assertion in its EncryptedData': (honest) => responseXml(parts(), toUs(honest, { more: evil() })),
    'the signature outside, of the content inside': (honest) =>
      responseXml(parts(), toUs(honest.replace(signatureOf(honest), ''))).replace(
        '</saml:Issuer>',
        `</saml:Issuer>${signatureOf(honest)}`,
      ),
    'a signature inside, of the content outside': (honest) => {
      const outside = wholly(responseXml(parts({ responseId: '_outside' }), toUs(honest)));
      return responseXml(
        parts({ responseId: '_outside' }),
        toUs(evil().replace('</saml:Issuer>', `</saml:Issuer>${signatureOf(outside)}`)),
      );
    },
    'under an id that is also used outside': () => answer({}, parts({ assertionId: '_twice', responseId: '_twice' })),
    'under the id of its own EncryptedData': () =>
      answer({}, parts({ assertionId: '_twice' })).replace('<xenc:EncryptedData ', '<xenc:EncryptedData Id="_twice" '),
  };
  test.each(Object.entries(wrapped))('%s', async (_, wrap) => {
    const { code } = await refusalOf(wrap(signedAssertion()));
    expect(['malformed', 'signature_invalid', 'unsigned']).toContain(code);
  });

  test('a signed response with an encrypted assertion inside of another one', async () => {
    const honest = wholly(responseXml(parts(), toUs(assertionXml(parts()))));
    const outer = responseXml(parts({ responseId: '_evil' }), toUs(evil()));
    const xml = outer.replace('</saml:Issuer><samlp:Status>', `</saml:Issuer>${honest}<samlp:Status>`);
    expect((await refusalOf(xml, { as: { samlWantAssertionsSigned: false } })).code).toMatch(
      /malformed|signature_invalid/,
    );
  });
});
