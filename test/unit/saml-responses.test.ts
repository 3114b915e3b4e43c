import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { SignedXml } from 'xml-crypto';
import type { SsoRefusal } from '../../src/domain/sso-protocols/assertion.js';
import { assertionXml, posted, responseXml, sign, signedResponse } from '../support/saml/provider.js';
import { type Answered, newSamlReceiver } from '../support/saml/receiver.js';

const receiver = await newSamlReceiver();
const { key, later, other, parts } = receiver;

const verify = (xml: string, answered: Answered = {}) => receiver.verify(posted(xml), answered);
const refused = (xml: string, code: SsoRefusal, answered: Answered = {}) =>
  expect(verify(xml, answered)).rejects.toMatchObject({ code });

describe('an honest answer', () => {
  test('says who a person is, how they authenticated, and everything that the provider sent', async () => {
    const asked = parts();
    expect(await verify(signedResponse(asked, key))).toEqual({
      issuer: receiver.issuer,
      handle: {
        protocol: 'saml',
        sessionIndex: '_session',
        nameId: expect.objectContaining({ value: 'ana@acme.example', nameQualifier: null }),
      },
      subject: 'ana@acme.example',
      email: 'ana@acme.example',
      emailVerified: null,
      attributes: { givenName: ['Ana'], groups: ['staff', 'admins'] },
      amr: ['pwd'],
      authenticatedAt: asked.authnInstant,
      sessionIndex: '_session',
      sessionUntil: null,
      once: { id: asked.assertionId, until: later(360_000) },
    });
  });

  test('may be signed as a whole, besides its assertion, or instead if the connection allows it', async () => {
    const whole = sign(responseXml(parts(), assertionXml(parts())), 'Response', key);
    const both = sign(signedResponse(parts(), key), 'Response', key);
    await expect(verify(both)).resolves.toMatchObject({ subject: 'ana@acme.example' });
    await expect(verify(whole, { as: { samlWantAssertionsSigned: false } })).resolves.toMatchObject({
      issuer: receiver.issuer,
    });
    await refused(whole, 'unsigned');
  });

  test('may be signed with any key of a provider that is changing its key', async () => {
    const samlSigningCert = `${other.certificate}\n${key.certificate}`;
    await expect(verify(signedResponse(parts(), key), { as: { samlSigningCert } })).resolves.toBeDefined();
    await expect(verify(signedResponse(parts(), other), { as: { samlSigningCert } })).resolves.toBeDefined();
  });

  test('is read once, however many certificates are tried on it', async () => {
    const check = jest.spyOn(SignedXml.prototype, 'checkSignature');
    try {
      const samlSigningCert = [...Array(7).fill(other.certificate), key.certificate].join('\n');
      await expect(verify(signedResponse(parts(), key), { as: { samlSigningCert } })).resolves.toBeDefined();
      expect(check).toHaveBeenCalledTimes(1);
      await refused(signedResponse(parts(), key), 'signature_invalid', {
        as: { samlSigningCert: `${other.certificate}\n${other.certificate}` },
      });
      expect(check).toHaveBeenCalledTimes(2);
    } finally {
      check.mockRestore();
    }
  });

  test('may be signed with SHA-512 and with RSA-PSS', async () => {
    const sha512 = {
      signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
      digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha512',
    };
    const pss = { signatureAlgorithm: 'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1' };
    await expect(verify(signedResponse(parts(), key, sha512))).resolves.toBeDefined();
    await expect(verify(signedResponse(parts(), key, pss))).resolves.toBeDefined();
  });

  test('may have been created by a clock that is less than a minute off', async () => {
    await expect(verify(signedResponse(parts({ notBefore: later(50_000) }), key))).resolves.toBeDefined();
    await expect(verify(signedResponse(parts({ notOnOrAfter: later(-50_000) }), key))).resolves.toBeDefined();
  });
});

describe('the person', () => {
  test('is the same with a qualifier that states the obvious', async () => {
    const { entityId, issuer } = receiver;
    const plain = parts({ nameId: 'u-1', nameIdAttributes: '' });
    const said = parts({ nameId: 'u-1', nameIdAttributes: ` NameQualifier="${issuer}" SPNameQualifier="${entityId}"` });
    const qualified = parts({ nameId: 'u-1', nameIdAttributes: ' NameQualifier="https://other.example"' });
    expect((await verify(signedResponse(plain, key))).subject).toBe('u-1');
    expect((await verify(signedResponse(said, key))).subject).toBe('u-1');
    expect((await verify(signedResponse(qualified, key))).subject).toBe(`https://other.example!${entityId}!u-1`);
  });

  test('is refused with a name too long for the database', async () => {
    const nameIdAttributes = ` NameQualifier="${'x'.repeat(3000)}"`;
    await refused(signedResponse(parts({ nameId: 'u-1', nameIdAttributes }), key), 'too_large');
    const transient = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"';
    const attributes = { 'urn:oasis:names:tc:SAML:attribute:pairwise-id': ['x'.repeat(3000)] };
    await refused(signedResponse(parts({ nameIdAttributes: transient, attributes }), key), 'too_large');
  });

  test('is nobody with a transient NameID, unless a persistent attribute says who', async () => {
    const nameIdAttributes = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"';
    await refused(signedResponse(parts({ nameId: '_x', nameIdAttributes }), key), 'subject_missing');
    const attributes = { 'urn:oasis:names:tc:SAML:attribute:subject-id': ['ana@acme.example'] };
    const lasting = await verify(signedResponse(parts({ nameId: '_x', nameIdAttributes, attributes }), key));
    expect([lasting.subject, lasting.sessionIndex]).toEqual(['ana@acme.example', 'transient _x']);
  });

  test('has the address of the mapped attribute, of a commonly named one, or of the NameID', async () => {
    const attributes = { mail: ['ana@mail.example'], work: ['ana@work.example'], empty: [] };
    const xml = signedResponse(parts({ attributes }), key);
    expect((await verify(xml)).email).toBe('ana@mail.example');
    expect((await verify(xml, { as: { attributeMapping: { email: 'work' } } })).email).toBe('ana@work.example');
    const persistent = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"';
    const none = parts({ nameIdAttributes: persistent, attributes: {} });
    expect((await verify(signedResponse(none, key))).email).toBeNull();
  });

  test('may have attributes of any name', async () => {
    const attributes = { __proto__x: ['1'], constructor: ['2'], getAssertionXml: ['3'] };
    Object.defineProperty(attributes, '__proto__', { value: ['4'], enumerable: true });
    const answer = await verify(signedResponse(parts({ attributes }), key));
    expect(Object.keys(answer.attributes).sort()).toEqual([
      '__proto__',
      '__proto__x',
      'constructor',
      'getAssertionXml',
    ]);
  });

  test('has used a second factor if the provider says so', async () => {
    const refeds = parts({ contextClass: 'https://refeds.org/profile/mfa' });
    const microsoft = parts({
      attributes: {
        'http://schemas.microsoft.com/claims/authnmethodsreferences': [
          'http://schemas.microsoft.com/claims/multipleauthn',
        ],
      },
    });
    expect((await verify(signedResponse(refeds, key))).amr).toEqual(['mfa']);
    expect((await verify(signedResponse(microsoft, key))).amr).toEqual(['pwd', 'mfa']);
    expect((await verify(signedResponse(parts({ contextClass: 'toString' }), key))).amr).toEqual([]);
  });
});

describe('an answer is refused that', () => {
  test('is not signed', () => refused(responseXml(parts(), assertionXml(parts())), 'unsigned'));

  test('is signed by another key, even if that is enclosed', () =>
    refused(signedResponse(parts(), other), 'signature_invalid'));

  test('was changed after it was signed', () =>
    refused(signedResponse(parts(), key).replace('ana@acme', 'eve@acme'), 'signature_invalid'));

  test('is signed with SHA-1', async () => {
    const signatureAlgorithm = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1';
    await refused(signedResponse(parts(), key, { signatureAlgorithm }), 'algorithm_refused');
    const digestAlgorithm = 'http://www.w3.org/2000/09/xmldsig#sha1';
    await refused(signedResponse(parts(), key, { digestAlgorithm }), 'algorithm_refused');
  });

  test('is signed with its comments, or by a transformation that SAML does not define', async () => {
    const withComments = 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments';
    const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
    await refused(signedResponse(parts(), key, { transforms: [enveloped, withComments] }), 'algorithm_refused');
    const xml = signedResponse(parts(), key);
    const xslt = xml.replace(enveloped, 'http://www.w3.org/TR/1999/REC-xslt-19991116');
    await refused(xslt, 'algorithm_refused');
  });

  test('is from another provider', async () => {
    await refused(signedResponse(parts({ issuer: 'https://evil.example' }), key), 'issuer_mismatch');
    const outside = signedResponse(parts(), key).replace(receiver.issuer, 'https://evil.example'); // the response's own issuer
    await refused(outside, 'issuer_mismatch');
  });

  test('is for another audience, or for none', async () => {
    await refused(signedResponse(parts({ audience: 'https://other.example' }), key), 'audience_mismatch');
    const unrestricted = assertionXml(parts()).replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, '');
    await refused(responseXml(parts(), sign(unrestricted, 'Assertion', key)), 'audience_mismatch');
  });

  test('is for two audiences that must both be met, one of them another’s', () => {
    const conditions =
      '<saml:AudienceRestriction><saml:Audience>https://x.example</saml:Audience></saml:AudienceRestriction>';
    return refused(signedResponse(parts({ conditions }), key), 'audience_mismatch');
  });

  test('is for another recipient', () =>
    refused(signedResponse(parts({ recipient: 'https://sp.example/acs' }), key), 'recipient_mismatch'));

  test('was sent to another destination, or names none although it is signed as a whole', async () => {
    await refused(signedResponse(parts({ destination: 'https://sp.example/acs' }), key), 'destination_mismatch');
    const nowhere = sign(signedResponse(parts({ destination: null }), key), 'Response', key);
    await refused(nowhere, 'destination_mismatch');
  });

  test('answers another request, or none', async () => {
    const otherRequest = `_${randomUUID()}`;
    await refused(signedResponse(parts({ inResponseTo: otherRequest }), key), 'in_response_to_mismatch');
    await refused(signedResponse(parts({ inResponseTo: null }), key), 'in_response_to_mismatch');
    const outside = signedResponse(parts(), key).replace(
      `InResponseTo="_${receiver.requestId}"`,
      `InResponseTo="${otherRequest}"`,
    );
    await refused(outside, 'in_response_to_mismatch');
  });

  test('has expired', () => refused(signedResponse(parts({ notOnOrAfter: later(-61_000) }), key), 'expired'));

  test('is not valid yet', () => refused(signedResponse(parts({ notBefore: later(61_000) }), key), 'not_yet_valid'));

  test('says that the session at the provider is over', () =>
    refused(signedResponse(parts({ sessionNotOnOrAfter: later(-61_000) }), key), 'expired'));

  test('was issued in the future, or has a sign-in in the future', async () => {
    await refused(signedResponse(parts({ authnInstant: later(120_000) }), key), 'not_yet_valid');
    await refused(signedResponse(parts({ issueInstant: later(120_000) }), key), 'not_yet_valid');
  });

  test('has an invalid time', async () => {
    const xml = assertionXml(parts()).replace(/AuthnInstant="[^"]+"/, 'AuthnInstant="yesterday"');
    await refused(responseXml(parts(), sign(xml, 'Assertion', key)), 'malformed');
    const local = assertionXml(parts()).replace(/ NotOnOrAfter="([^"]+)Z" Rec/, ' NotOnOrAfter="$1" Rec');
    await refused(responseXml(parts(), sign(local, 'Assertion', key)), 'malformed');
  });

  test('has an unknown condition', () =>
    refused(signedResponse(parts({ conditions: '<x:Weekday xmlns:x="urn:x"/>' }), key), 'malformed'));

  test('says that the sign-in did not succeed', async () => {
    const status = 'urn:oasis:names:tc:SAML:2.0:status:Responder';
    await refused(responseXml(parts({ status }), ''), 'status_not_success');
    await refused(signedResponse(parts({ status }), key), 'status_not_success');
  });

  test('explains itself in its own words, which are one line in a test’s report', async () => {
    const said = async (more: string) => {
      const policy = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy"/>';
      const status = 'urn:oasis:names:tc:SAML:2.0:status:Requester';
      const xml = responseXml(parts({ status }), '').replace(
        /(<samlp:StatusCode Value="[^"]+")\/>/,
        `$1>${policy}</samlp:StatusCode>${more}`,
      );
      return verify(xml).catch(({ message }: Error) => message);
    };
    const ours =
      'The provider says Requester InvalidNameIDPolicy: have it send the NameID format of saml_name_id_format, or change that setting';
    expect(await said('')).toBe(ours);
    const message = (text: string) => `<samlp:StatusMessage>${text}</samlp:StatusMessage>`;
    expect(await said(message(' MSIS7070:\n\tthe policy\u202e '))).toBe(`${ours}: MSIS7070: the policy`);
    expect(await said(message('x'.repeat(1_000)))).toBe(`${ours}: ${'x'.repeat(300)}…`);
  });

  test('is unsolicited, if the connection does not allow that; or else an old one, or one that was requested', async () => {
    const unsolicited = parts({ inResponseTo: null });
    const as = { samlAllowIdpInitiated: true };
    await refused(signedResponse(unsolicited, key), 'idp_initiated_disabled', { requestId: null });
    await expect(verify(signedResponse(unsolicited, key), { as, requestId: null })).resolves.toBeDefined();
    const old = parts({ inResponseTo: null, issueInstant: later(-12 * 60_000) });
    await refused(signedResponse(old, key), 'expired', { as, requestId: null });
    await refused(signedResponse(parts(), key), 'in_response_to_mismatch', { as, requestId: null });
  });

  test('comes before its connection is complete', () =>
    refused(signedResponse(parts(), key), 'configuration_incomplete', { as: { samlSigningCert: null } }));
});
