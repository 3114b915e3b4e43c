import type { SsoConnection } from '../../entities/sso-connection.js';
import { type Assertion, SsoRefused } from '../../src/domain/sso-protocols/assertion.js';
import { readAssertion } from '../../src/domain/sso-protocols/saml/assertions.js';
import { samlServiceProviderOf } from '../../src/domain/sso-protocols/saml/settings.js';
import { readXml, XmlRefused } from '../../src/domain/sso-protocols/saml/xml.js';
import { assertionXml, partsOf, type ResponseParts } from '../support/saml/provider.js';

/** Each rule about an assertion has its own message: here nothing checks who has signed it. */

const now = new Date('2026-11-22T10:00:00.000Z');
const later = (ms: number) => new Date(now.getTime() + ms);
const issuer = 'https://idp.acme.example/metadata';
const us = samlServiceProviderOf('https://id.gatehouse.example', '018f6f5e-0000-7000-8000-000000000000');
const request = '_request';

const xmlOf = (changes: Partial<ResponseParts> = {}) =>
  assertionXml(partsOf({ issuer, acsUrl: us.acsUrl, audience: us.entityId, inResponseTo: request, now }, changes));

interface Asked {
  inResponseTo?: string | null;
  mapping?: Record<string, string>;
}
const read = (xml: string, { inResponseTo = request, mapping = {} }: Asked = {}): Assertion =>
  readAssertion(readXml(xml, { maxLength: 1_000_000 }), {
    connection: { attributeMapping: mapping } as SsoConnection,
    provider: { entityId: issuer, ssoUrl: '', certificates: [] },
    serviceProvider: us,
    inResponseTo,
    now,
  });
/** Returns `taken`, or the reason why not. */
function outcomeOf(xml: string, asked: Asked = {}): string {
  return outcomeOfReading(() => read(xml, asked));
}
function outcomeOfReading(work: () => unknown): string {
  try {
    work();
    return 'taken';
  } catch (error) {
    if (error instanceof SsoRefused) return `${error.code}: ${error.message}`;
    if (error instanceof XmlRefused) return `${error.reason}: ${error.message}`;
    throw error;
  }
}

/** Returns the honest assertion with one piece replaced. */
function otherwise(piece: string | RegExp, replacement: string, changes: Partial<ResponseParts> = {}): string {
  const honest = xmlOf(changes);
  const written = honest.replace(piece, replacement);
  if (written === honest) throw new Error(`No ${piece} in the assertion`);
  return written;
}

test('the honest one is accepted, and may have spaces around its values', () => {
  expect(outcomeOf(xmlOf())).toBe('taken');
  expect(read(otherwise(/(<saml:Issuer>)(.*?)</, '$1\n $2 <')).issuer).toBe(issuer);
  expect(outcomeOf(otherwise(/(<saml:Audience>)(.*?)</, '$1\n $2 <'))).toBe('taken');
  expect(read(otherwise(/(<saml:AuthnContextClassRef>)(.*?)</, '$1\n $2 <')).amr).toEqual(['pwd']);
  expect(read(xmlOf({ attributes: { team: [' \n red '] } })).attributes).toEqual({ team: ['red'] });
});

test.each([
  [
    'no issuer',
    /<saml:Issuer>.*?<\/saml:Issuer>/,
    '',
    `issuer_mismatch: It is from "", not from the connection's provider`,
  ],
  [
    'a long issuer',
    /(<saml:Issuer>).*?</,
    `$1${'x'.repeat(300)}<`,
    `issuer_mismatch: It is from "${'x'.repeat(200)}", not from the connection's provider`,
  ],
  ['no ID', / ID="[^"]*"/, '', 'malformed: Its assertion lacks a version, an id or the time when it was issued'],
  [
    'another version',
    'Version="2.0"',
    'Version="1.1"',
    'malformed: Its assertion lacks a version, an id or the time when it was issued',
  ],
  [
    'no conditions',
    /<saml:Conditions.*<\/saml:Conditions>/,
    '',
    `audience_mismatch: Its audience is not ${us.entityId}`,
  ],
  ['no subject', /<saml:Subject>.*<\/saml:Subject>/, '', 'subject_missing: Its assertion has no Subject'],
  [
    'no SubjectConfirmationData',
    /<saml:SubjectConfirmationData.*?\/>/,
    '',
    'malformed: Its SubjectConfirmationData has no NotOnOrAfter',
  ],
  [
    'a confirmation for ever',
    /(<saml:SubjectConfirmationData.*?) NotOnOrAfter="[^"]*"/,
    '$1',
    'malformed: Its SubjectConfirmationData has no NotOnOrAfter',
  ],
  [
    'a holder-of-key confirmation without its key',
    'cm:bearer',
    'cm:holder-of-key',
    'malformed: Nothing confirms that its bearer is the Subject',
  ],
  [
    'no AuthnStatement',
    /<saml:AuthnStatement.*<\/saml:AuthnStatement>/,
    '',
    'malformed: Its assertion does not have one AuthnStatement with its AuthnInstant',
  ],
  [
    'two AuthnStatements',
    /(<saml:AuthnStatement.*<\/saml:AuthnStatement>)/,
    '$1$1',
    'malformed: Its assertion does not have one AuthnStatement with its AuthnInstant',
  ],
  [
    'an AuthnStatement without a time',
    / AuthnInstant="[^"]*"/,
    '',
    'malformed: Its assertion does not have one AuthnStatement with its AuthnInstant',
  ],
  [
    'two subjects',
    /(<saml:Subject>.*<\/saml:Subject>)/,
    '$1$1',
    'malformed: It has more than one Subject in its Assertion',
  ],
])('%s is refused with its own message', (_, piece, replacement, refusal) => {
  expect(outcomeOf(otherwise(piece, replacement))).toBe(refusal);
});

describe('the audience', () => {
  const other = '<saml:Audience>https://other.example</saml:Audience>';

  test('is any of the audiences of a restriction', () => {
    expect(outcomeOf(otherwise('<saml:AudienceRestriction>', `$&${other}`))).toBe('taken');
    expect(outcomeOf(otherwise('</saml:AudienceRestriction>', `${other}$&`))).toBe('taken');
  });

  test.each([
    ['a foreign condition under a known name is refused', '<OneTimeUse xmlns="urn:example:other"/>', 'malformed'],
    ['an unknown condition of SAML is refused', '<saml:DelegationRestriction/>', 'malformed'],
    ['OneTimeUse is accepted, as every assertion is used once', '<saml:OneTimeUse/>', 'taken'],
    ['ProxyRestriction is accepted', '<saml:ProxyRestriction Count="0"/>', 'taken'],
  ])('%s', (_, conditions, outcome) => {
    expect(outcomeOf(xmlOf({ conditions })).split(':')[0]).toBe(outcome);
  });
});

describe('of several confirmations', () => {
  const [confirmation] = /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/.exec(xmlOf()) as RegExpExecArray;
  const keyHolder = confirmation.replace('cm:bearer', 'cm:holder-of-key');
  const elsewhere = confirmation.replace(us.acsUrl, 'https://elsewhere.example/acs');
  const late = confirmation.replace(/NotOnOrAfter="[^"]*"/, `NotOnOrAfter="${later(-60_000).toISOString()}"`);
  const confirmedBy = (...confirmations: string[]) => otherwise(confirmation, confirmations.join(''));

  test('the matching one decides', () => {
    for (const beside of [keyHolder, elsewhere, late]) {
      expect(outcomeOf(confirmedBy(beside, confirmation))).toBe('taken');
      expect(outcomeOf(confirmedBy(confirmation, beside))).toBe('taken');
    }
  });

  test('the last one to end decides how long the assertion is remembered, in which it could be sent again', () => {
    const longer = confirmation.replace(/NotOnOrAfter="[^"]*"/, `NotOnOrAfter="${later(900_000).toISOString()}"`);
    const skewed = later(960_000);
    for (const both of [confirmedBy(confirmation, longer), confirmedBy(longer, confirmation)])
      expect(read(both).once?.until).toEqual(skewed);
  });

  test('without a match, the first bearer’s reason is reported', () => {
    expect(outcomeOf(confirmedBy(keyHolder, elsewhere, late))).toMatch(/^recipient_mismatch/);
    expect(outcomeOf(confirmedBy(late, elsewhere))).toMatch(/^expired/);
    expect(outcomeOf(confirmedBy(keyHolder))).toMatch(/^malformed: Nothing confirms/);
  });
});

describe('times are exact to the second, with a minute’s tolerance', () => {
  test.each<[string, Partial<ResponseParts>, string]>([
    ['a start a minute from now is accepted', { notBefore: later(60_000) }, 'taken'],
    ['a later start is refused', { notBefore: later(60_001) }, 'not_yet_valid'],
    ['an end less than a minute ago is accepted', { notOnOrAfter: later(-59_999) }, 'taken'],
    ['an end a minute ago is refused', { notOnOrAfter: later(-60_000) }, 'expired'],
    ['an issue a minute from now is accepted', { issueInstant: later(60_000) }, 'taken'],
    ['a later issue is refused', { issueInstant: later(60_001) }, 'not_yet_valid'],
    ['a sign-in a minute from now is accepted', { authnInstant: later(60_000) }, 'taken'],
    ['a later sign-in is refused', { authnInstant: later(60_001) }, 'not_yet_valid'],
    ['a session that ended less than a minute ago is accepted', { sessionNotOnOrAfter: later(-59_999) }, 'taken'],
    ['a session that ended a minute ago is refused', { sessionNotOnOrAfter: later(-60_000) }, 'expired'],
  ])('%s', (_, changes, outcome) => {
    expect(outcomeOf(xmlOf(changes)).split(':')[0]).toBe(outcome);
  });

  test.each([
    ['2026-11-22T10:00:00Z', 'taken'],
    ['2026-11-22T11:00:00.123456789+01:00', 'taken'],
    ['2026-11-22T10:00:00', 'malformed'],
    ['2026-11-22T10:00:00.Z', 'malformed'],
    ['2026-11-22T10:00:00.1234567890Z', 'malformed'],
    ['2026-11-22 10:00:00Z', 'malformed'],
    ['2026-13-22T10:00:00Z', 'malformed'],
    ['x2026-11-22T10:00:00Z', 'malformed'],
    ['2026-11-22T10:00:00Zx', 'malformed'],
    ['12026-11-22T10:00:00Z', 'malformed'],
    ['', 'malformed'],
  ])('an IssueInstant of "%s" has the outcome "%s"', (instant, outcome) => {
    expect(outcomeOf(otherwise(/ IssueInstant="[^"]*"/, ` IssueInstant="${instant}"`)).split(':')[0]).toBe(outcome);
  });

  test('an unsolicited one is at most eleven minutes old', () => {
    const unasked = (age: number) =>
      outcomeOf(xmlOf({ inResponseTo: null, issueInstant: later(-age) }), { inResponseTo: null });
    expect(unasked(660_000)).toBe('taken');
    expect(unasked(660_001)).toBe('expired: It is unsolicited, and older than ten minutes');
    expect(outcomeOf(xmlOf({ issueInstant: later(-660_001) }))).toBe('taken');
  });
});

test.each([
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:Password', ['pwd']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport', ['pwd']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:TimeSyncToken', ['otp']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:Smartcard', ['sc']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:SmartcardPKI', ['sc', 'pin', 'mfa']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:X509', ['pop']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:TLSClient', ['pop']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:Kerberos', ['wia']],
  ['urn:federation:authentication:windows', ['wia']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered', ['mfa']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract', ['mfa']],
  ['https://refeds.org/profile/mfa', ['mfa']],
  ['http://schemas.microsoft.com/claims/multipleauthn', ['mfa']],
  ['urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified', []],
])('the context class %s is mapped to the amr %j', (contextClass, amr) => {
  expect(read(xmlOf({ contextClass })).amr).toEqual(amr);
});

test('no context says nothing about how a person signed in', () => {
  expect(read(otherwise(/<saml:AuthnContextClassRef>.*<\/saml:AuthnContextClassRef>/, '')).amr).toEqual([]);
  expect(read(otherwise(/<saml:AuthnContext>.*<\/saml:AuthnContext>/, '')).amr).toEqual([]);
});

describe('attributes', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, ['x']]));

  test.each<[string, Record<string, string[]>, string]>([
    ['200 attributes are accepted', many(200), 'taken'],
    ['201 attributes are refused', many(201), 'too_large: It has too many attributes'],
    ['1000 values are accepted', { a: Array(1_000).fill('x') }, 'taken'],
    ['1001 values are refused', { a: Array(1_001).fill('x') }, 'too_large: It has too many attributes'],
    ['a value of 4096 characters is accepted', { a: ['short', 'x'.repeat(4_096)] }, 'taken'],
    [
      'a value of 4097 characters is refused',
      { a: ['short', 'x'.repeat(4_097)] },
      'too_large: It has an attribute longer than 4096 characters',
    ],
    ['a name of 4096 characters is accepted', { ['x'.repeat(4_096)]: [] }, 'taken'],
    [
      'a name of 4097 characters is refused',
      { ['x'.repeat(4_097)]: [] },
      'too_large: It has an attribute longer than 4096 characters',
    ],
    ['an attribute without a name is refused', { '': ['x'] }, 'malformed: It has an attribute without a name'],
  ])('%s', (_, attributes, outcome) => {
    expect(outcomeOf(xmlOf({ attributes }))).toBe(outcome);
  });

  test('that are sent twice have the values of both', () => {
    const twice = otherwise(/(<saml:AttributeStatement>.*<\/saml:AttributeStatement>)/, '$1$1', {
      attributes: { a: ['1', '2'] },
    });
    expect(read(twice).attributes).toEqual({ a: ['1', '2', '1', '2'] });
  });
});

describe('the address', () => {
  const format = (name: string) => ({ nameIdAttributes: ` Format="urn:oasis:names:tc:SAML:${name}"` });
  const emailOf = (changes: Partial<ResponseParts>, mapping = {}) => read(xmlOf(changes), { mapping }).email;

  test('is the NameID’s if that may be one', () => {
    expect(emailOf(format('1.1:nameid-format:emailAddress'))).toBe('ana@acme.example');
    expect(emailOf(format('1.1:nameid-format:unspecified'))).toBe('ana@acme.example');
    expect(emailOf({ nameIdAttributes: '' })).toBe('ana@acme.example');
    expect(emailOf(format('2.0:nameid-format:persistent'))).toBeNull();
  });

  test.each([
    ['ana@acme.example', true],
    [`${'a'.repeat(241)}@acme.example`, true],
    [`${'a'.repeat(242)}@acme.example`, false],
    ['ana', false],
    ['Ana ana@acme.example', false],
    ['ana@acme.example (Ana)', false],
    ['&lt;ana@acme.example&gt;', false],
    ['ana@acme@example', false],
    ['@acme.example', false],
    ['ana@', false],
  ])('"%s" is read as an address: %s', (sent, isOne) => {
    expect(emailOf({ attributes: { mail: [sent] }, ...format('2.0:nameid-format:persistent') })).toBe(
      isOne ? sent : null,
    );
  });

  test('is no other attribute’s if one is mapped', () => {
    const sent = { attributes: { mail: ['mail@acme.example'], work: ['work@acme.example'] } };
    expect(emailOf(sent, { email: 'work' })).toBe('work@acme.example');
    expect(emailOf({ ...sent, ...format('2.0:nameid-format:persistent') }, { email: 'none' })).toBeNull();
  });
});

describe('XML is read up to', () => {
  const outcome = (text: string, maxLength = 1_000_000) => outcomeOfReading(() => readXml(text, { maxLength }));
  const nested = (depth: number) => `${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`;
  const attributed = (count: number) => `<a ${Array.from({ length: count }, (_, n) => `b${n}=""`).join(' ')}/>`;

  test.each([
    ['its limit of length', '<a>12345</a>', 'taken'],
    ['and no longer', '<a>123456</a>', 'too_large: It is longer than 12 characters'],
  ])('%s', (_, text, expected) => expect(outcome(text, 12)).toBe(expected));

  test.each([
    ['40 levels', nested(40), 'taken'],
    ['and no deeper', nested(41), 'too_large: Its elements are nested too deeply'],
    ['64 attributes', attributed(64), 'taken'],
    ['and no more attributes', attributed(65), 'too_large: An element has too many attributes'],
    ['its limit of elements', `<a>${'<b/>'.repeat(9_998)}</a>`, 'taken'],
    ['and no more elements', `<a>${'<b/>'.repeat(9_999)}</a>`, 'too_large: It has too many elements'],
    ['a hundred comments', `<a>${'<!---->'.repeat(100)}</a>`, 'taken'],
    ['and no more comments', `<a>${'x<!---->'.repeat(101)}</a>`, 'too_large: It has too many comments'],
    ['the end of its root element', '<a/><b/>', 'malformed: It is not well-formed'],
    ['a processing instruction', '<a><?b c?></a>', 'malformed: It has a processing instruction'],
  ])('%s', (_, text, expected) => expect(outcome(text).slice(0, expected.length)).toBe(expected));

  test('XML attributes of other namespaces do not count as SAML’s', () => {
    const { attributes } = readXml('<a xmlns:x="urn:x" x:ID="theirs"/>', { maxLength: 100 });
    expect([...attributes.keys()]).toEqual([]);
  });
});
