import { SsoRefused } from '../../src/domain/sso-protocols/assertion.js';
import { onlyAssertionOf, signaturesOf } from '../../src/domain/sso-protocols/saml/signatures.js';
import { readXml } from '../../src/domain/sso-protocols/saml/xml.js';

/** Where a signature may be and what it may say, before its value is checked: each rule has its own message. */

const dsig = 'http://www.w3.org/2000/09/xmldsig#';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256';
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

interface Parts {
  id: string;
  method: string;
  canonicalization: string;
  digest: string;
  transforms: readonly string[] | null;
  references: number;
  hasInfo: boolean;
  more: string;
}

function signature(changes: Partial<Parts> = {}): string {
  const { id, method, canonicalization, digest, transforms, references, hasInfo, more }: Parts = {
    id: 'a',
    method: rsaSha256,
    canonicalization: exclusive,
    digest: sha256,
    transforms: [`${dsig}enveloped-signature`, exclusive],
    references: 1,
    hasInfo: true,
    more: '',
    ...changes,
  };
  const steps = transforms?.map((one) => `<Transform Algorithm="${one}"/>`).join('');
  const reference = `<Reference URI="#${id}">${steps === undefined ? '' : `<Transforms>${steps}</Transforms>`}<DigestMethod Algorithm="${digest}"/></Reference>`;
  const info = `<SignedInfo><CanonicalizationMethod Algorithm="${canonicalization}"/><SignatureMethod Algorithm="${method}"/>${reference.repeat(references)}</SignedInfo>`;
  return `<Signature xmlns="${dsig}">${hasInfo ? info : ''}${more}</Signature>`;
}

const assertionOf = (content: string, id = 'a') =>
  `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}">${content}</saml:Assertion>`;
const responseOf = (content: string) =>
  `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="r">${content}</samlp:Response>`;

function look(content: string) {
  const response = readXml(responseOf(content), { maxLength: 100_000 });
  return signaturesOf(response, { assertion: onlyAssertionOf(response) });
}
function refusalOf(content: string): string {
  try {
    look(content);
  } catch (error) {
    if (error instanceof SsoRefused) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'taken';
}

test('the signed elements are reported: the message and its assertion', () => {
  expect(look(assertionOf(''))).toEqual({ message: false, assertion: false });
  expect(look(assertionOf(signature()))).toEqual({ message: false, assertion: true });
  expect(look(signature({ id: 'r' }) + assertionOf(''))).toEqual({ message: true, assertion: false });
  expect(look(signature({ id: 'r' }) + assertionOf(signature()))).toEqual({ message: true, assertion: true });
  expect(look('')).toEqual({ message: false, assertion: false });
});

test.each<[string, string, string]>([
  ['somewhere else', `<x>${signature()}</x>${assertionOf('')}`, 'is not directly in the message'],
  [
    'somewhere else, besides one in its place',
    `<x>${signature()}</x>${assertionOf(signature())}`,
    'is not directly in the message',
  ],
  ['deeper in the assertion', assertionOf(`<x>${signature()}</x>`), 'is not directly in the message'],
  ['twice', assertionOf(signature() + signature()), 'Assertion has more than one signature'],
  ['twice in the response', signature({ id: 'r' }).repeat(2) + assertionOf(''), 'Response has more than one signature'],
  ['without what it signs', assertionOf(signature({ hasInfo: false })), 'does not refer to exactly one element'],
  ['without a reference', assertionOf(signature({ references: 0 })), 'does not refer to exactly one element'],
  ['with two references', assertionOf(signature({ references: 2 })), 'does not refer to exactly one element'],
  ['with a reference to another element', assertionOf(signature({ id: 'r' })), 'covers another element'],
  ['of the response, with a reference to its assertion', signature() + assertionOf(''), 'covers another element'],
  ['with a reference to an element without an id', assertionOf(signature({ id: '' }), ''), 'covers another element'],
  ['with an Object', assertionOf(signature({ more: '<Object/>' })), 'has an Object'],
  [
    'with too many transformations',
    assertionOf(signature({ transforms: [exclusive, exclusive, exclusive] })),
    'too many transformations',
  ],
  ['of an id that occurs twice', `<x ID="a"/>${assertionOf(signature())}`, 'is used on more than one element'],
  [
    'of an id that occurs twice, once as Id',
    `<x Id="a"/>${assertionOf(signature())}`,
    'is used on more than one element',
  ],
  [
    'of an id that occurs twice, once as id',
    `<x id="r"/>${assertionOf(signature())}`,
    'is used on more than one element',
  ],
])('a signature %s is refused', (_, content, words) => {
  expect(refusalOf(content)).toMatch(new RegExp(`^signature_invalid: .*${words}`));
});

test.each<[string, Partial<Parts>]>([
  ['http://www.w3.org/2000/09/xmldsig#rsa-sha1', { method: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }],
  ['http://www.w3.org/2000/09/xmldsig#hmac-sha1', { method: 'http://www.w3.org/2000/09/xmldsig#hmac-sha1' }],
  [`${exclusive}WithComments`, { canonicalization: `${exclusive}WithComments` }],
  ['http://www.w3.org/2000/09/xmldsig#sha1', { digest: 'http://www.w3.org/2000/09/xmldsig#sha1' }],
  ['http://www.w3.org/TR/1999/REC-xslt-19991116', { transforms: ['http://www.w3.org/TR/1999/REC-xslt-19991116'] }],
  ['nothing named', { method: '' }],
])('a signature made with %s is refused', (name, changes) => {
  expect(refusalOf(assertionOf(signature(changes)))).toBe(`algorithm_refused: It is signed with ${name}`);
});

test('a name of any length is reported in part', () => {
  const told = refusalOf(assertionOf(signature({ method: 'x'.repeat(500) })));
  expect(told).toBe(`algorithm_refused: It is signed with ${'x'.repeat(100)}`);
});

test('an absent value is reported as nothing, and no step is needed', () => {
  const bare = assertionOf(signature()).replace(/<SignatureMethod [^>]*>/, '');
  expect(refusalOf(bare)).toBe('algorithm_refused: It is signed with nothing named');
  expect(look(assertionOf(signature({ transforms: null })))).toEqual({ message: false, assertion: true });
});

test('an element of that name outside of XML Signature counts for nothing', () => {
  expect(look(`<Signature xmlns="urn:x"/>${assertionOf(signature())}`)).toEqual({ message: false, assertion: true });
});
