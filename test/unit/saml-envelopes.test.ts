import type { SsoConnection } from '../../entities/sso-connection.js';
import {
  assertionXml,
  posted,
  type ResponseParts,
  responseXml,
  sign,
  signedResponse,
} from '../support/saml/provider.js';
import { type Answered, newSamlReceiver } from '../support/saml/receiver.js';

/**
 * What the response around an assertion has to say, and who is responsible for an error: strangers disable no
 * connection.
 */

const receiver = await newSamlReceiver();
const { key, parts } = receiver;

const verify = (xml: string, as: Partial<SsoConnection> = {}, more: Answered = {}) =>
  receiver.verify(posted(xml), { as, ...more });
/** Both are signed, or the response alone. */
const bothSigned = (about: ResponseParts) => sign(signedResponse(about, key), 'Response', key);
const aroundSigned = (about: ResponseParts) => sign(responseXml(about, assertionXml(about)), 'Response', key);
const anyPart = { samlWantAssertionsSigned: false };

describe('a refusal counts as the provider’s', () => {
  const elsewhere = 'https://elsewhere.example/acs';

  test('if it has signed the error, for this request', async () => {
    const wrongAudience = signedResponse(parts({ audience: 'https://other.example' }), key);
    await expect(verify(wrongAudience)).rejects.toMatchObject({ code: 'audience_mismatch', isSigned: true });
    const wrongDestination = bothSigned(parts({ destination: elsewhere }));
    await expect(verify(wrongDestination)).rejects.toMatchObject({ code: 'destination_mismatch', isSigned: true });
    const around = aroundSigned(parts({ audience: 'https://other.example' }));
    await expect(verify(around, anyPart)).rejects.toMatchObject({ code: 'audience_mismatch', isSigned: true });
  });

  test('and not if anybody can have written it around what it has signed', async () => {
    const envelope = signedResponse(parts({ destination: elsewhere }), key);
    await expect(verify(envelope)).rejects.toMatchObject({ code: 'destination_mismatch', isSigned: false });
  });

  test('nor if it has signed that for another request, or for none', async () => {
    for (const inResponseTo of ['_another', null]) {
      const earlier = parts({ inResponseTo });
      const own = responseXml(parts(), sign(assertionXml(earlier), 'Assertion', key));
      await expect(verify(own)).rejects.toMatchObject({ code: 'in_response_to_mismatch', isSigned: false });
      const whole = bothSigned(parts({ inResponseTo, destination: elsewhere }));
      await expect(verify(whole)).rejects.toMatchObject({ code: 'destination_mismatch', isSigned: false });
    }
  });

  test('and for an unsolicited answer, if it has signed that one', async () => {
    const unasked = { samlAllowIdpInitiated: true };
    const about = parts({ inResponseTo: null, audience: 'https://other.example' });
    const refusal = verify(signedResponse(about, key), unasked, { requestId: null });
    await expect(refusal).rejects.toMatchObject({ code: 'audience_mismatch', isSigned: true });
    const answer = signedResponse(parts({ audience: 'https://other.example' }), key);
    await expect(verify(answer, unasked, { requestId: null })).rejects.toMatchObject({ isSigned: false });
  });
});

describe('what has to be signed', () => {
  test.each<[string, boolean, (about: ResponseParts) => string, string | null]>([
    ['a signed assertion is accepted where it is required', true, (about) => signedResponse(about, key), null],
    ['both signed are accepted where the assertion is required', true, (about) => bothSigned(about), null],
    ['a signed response alone is accepted where that is enough', false, aroundSigned, null],
    ['a signed assertion is accepted where either is enough', false, (about) => signedResponse(about, key), null],
    [
      'a signed response alone is refused where the assertion is required',
      true,
      aroundSigned,
      'The response is signed, but its assertion is not',
    ],
    ['nothing signed is refused', true, (about) => responseXml(about, assertionXml(about)), 'It is not signed'],
    [
      'nothing signed is refused where either is enough',
      false,
      (about) => responseXml(about, assertionXml(about)),
      'It is not signed',
    ],
  ])('%s', async (_, samlWantAssertionsSigned, made, refusal) => {
    const verified = verify(made(parts()), { samlWantAssertionsSigned });
    if (refusal === null)
      await expect(verified).resolves.toMatchObject({ subject: expect.stringContaining('ana@acme') });
    else await expect(verified).rejects.toMatchObject({ code: 'unsigned', message: refusal });
  });

  test('a signed response without an assertion has none', async () => {
    const empty = sign(responseXml(parts(), ''), 'Response', key);
    await expect(verify(empty, anyPart)).rejects.toMatchObject({ code: 'malformed', message: 'It has no assertion' });
  });
});

describe('the envelope', () => {
  const withoutDestination = { destination: null };

  test('names its destination, if it is signed itself', async () => {
    await expect(verify(signedResponse(parts(withoutDestination), key))).resolves.toBeDefined();
    const signed = bothSigned(parts(withoutDestination));
    await expect(verify(signed)).rejects.toMatchObject({ code: 'destination_mismatch' });
  });

  test('needs neither issuer nor time, and is checked by those that it has', async () => {
    const about = parts();
    const bare = (xml: string) =>
      xml.replace(/<saml:Issuer [^>]*>[^<]*<\/saml:Issuer>/, '').replace(/ IssueInstant="[^"]*"/, '');
    const assertion = sign(assertionXml(about), 'Assertion', key);
    await expect(
      verify(responseXml(about, '').replace('</samlp:Response>', `${assertion}</samlp:Response>`)),
    ).resolves.toBeDefined();
    await expect(
      verify(bare(responseXml(about, '')).replace('</samlp:Response>', `${assertion}</samlp:Response>`)),
    ).resolves.toBeDefined();
    const foreign = responseXml({ ...about, issuer: 'https://other.example' }, assertion);
    await expect(verify(foreign)).rejects.toMatchObject({ code: 'issuer_mismatch' });
    const early = responseXml({ ...about, issueInstant: receiver.later(3_600_000) }, assertion);
    await expect(verify(early)).rejects.toMatchObject({ message: expect.stringContaining('IssueInstant') });
  });
});

describe('a provider’s refusal', () => {
  const saying = (code: string, detail?: string) =>
    responseXml(parts({ status: `urn:oasis:names:tc:SAML:2.0:status:${code}` }), '').replace(
      /(<samlp:StatusCode [^>]*)\/>/,
      detail === undefined ? '$1/>' : `$1><samlp:StatusCode Value="${detail}"/></samlp:StatusCode>`,
    );
  const saml = 'urn:oasis:names:tc:SAML:2.0:status:';

  test.each<[string, string | undefined, string]>([
    ['Responder', undefined, 'The provider says Responder'],
    ['Responder', `${saml}AuthnFailed`, 'The provider says Responder AuthnFailed'],
    ['Requester', 'x'.repeat(200), `The provider says Requester ${'x'.repeat(80)}`],
    [
      'Requester',
      `${saml}InvalidNameIDPolicy`,
      'The provider says Requester InvalidNameIDPolicy: have it send the NameID format of saml_name_id_format, or change that setting',
    ],
  ])('is reported by the last parts of its status codes: %s %s', async (code, detail, message) => {
    await expect(verify(saying(code, detail))).rejects.toMatchObject({ code: 'status_not_success', message });
  });
});
