import type { Profile } from '@node-saml/node-saml';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import { theirWords } from '../their-words.js';
import { assertInResponseTo, assertIssuer, type Expected, readAssertion } from './assertions.js';
import { loadLibrary } from './library.js';
import { decodeMessage } from './messages.js';
import { providerOf, serviceProviderOf } from './settings.js';
import { assertMessage, onlyAssertionOf, type Signed, signaturesOf } from './signatures.js';
import { assertPast, instantOf } from './times.js';
import { childOf, everyElement, readXml, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml, protocol } = samlNamespaces;
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const invalidNameIdPolicy = 'urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy';
/** In characters. Hundreds of groups fit; what is bigger is not read at all. */
const maxLength = 256 * 1024;

export interface ResponseToVerify {
  /** As it was posted, base64 (SAML 2.0 Bindings §3.5.4). */
  samlResponse: string;
  expects: { requestId: string | null };
}

/**
 * Checks a provider's answer (SAML 2.0 Profiles §4.1.4.3). What could be read in two ways is refused before the library
 * verifies the signature, and everything that is believed afterwards is read from the bytes that were signed.
 * @throws SsoRefused
 */
export async function verifyResponse(
  connection: SsoConnection,
  { samlResponse, expects }: ResponseToVerify,
  { baseUrl, now }: { baseUrl: string; now: Date },
): Promise<Assertion> {
  const provider = providerOf(connection);
  const serviceProvider = serviceProviderOf(baseUrl, connection.id);
  const inResponseTo = expects.requestId === null ? null : `_${expects.requestId}`;
  const expected: Expected = { connection, provider, serviceProvider, inResponseTo, now };
  if (inResponseTo === null && !connection.samlAllowIdpInitiated) {
    throw new SsoRefused('in_response_to_mismatch', 'Nobody asked for it, and the connection takes no such answers');
  }
  const text = decodeMessage(samlResponse, maxLength);
  const response = readXml(text, { maxLength });
  assertMessage(response, 'Response');
  const assertion = onlyAssertionOf(response);
  const signed = signaturesOf(response, { assertion });
  assertSuccess(response);
  if (!assertion) throw new SsoRefused('malformed', 'It has no assertion');
  assertSigned(signed, connection.samlWantAssertionsSigned);
  const verified = readXml(await signedAssertion(text, signed, expected), { maxLength: 2 * maxLength });
  const isAnswer = answers(verified, inResponseTo);
  saidByProvider(isAnswer && signed.message, () => assertEnvelope(response, signed, expected));
  return saidByProvider(isAnswer, () => readAssertion(verified, expected));
}

/**
 * Whether the provider itself has said what is refused here, to this request: else whoever has posted it did, who may well have
 * a signed answer of theirs from before, or an envelope of their own around a new one.
 */
function saidByProvider<T>(isSigned: boolean, read: () => T): T {
  try {
    return read();
  } catch (refusal) {
    if (refusal instanceof SsoRefused) refusal.isSigned = isSigned;
    throw refusal;
  }
}

const answers = (assertion: XmlElement, inResponseTo: string | null): boolean =>
  [...everyElement(assertion)].some(
    ({ name, attributes }) =>
      name === 'SubjectConfirmationData' && (attributes.get('InResponseTo') ?? null) === inResponseTo,
  );

/** @throws SsoRefused unless its Status says that it was done (Core §3.2.2.1) */
export function assertSuccess(response: XmlElement): void {
  const status = childOf(response, protocol, 'Status');
  const code = status && childOf(status, protocol, 'StatusCode');
  const value = code?.attributes.get('Value');
  if (!code || !value) throw new SsoRefused('malformed', 'It has no Status');
  if (value === success) return;
  const detail = childOf(code, protocol, 'StatusCode')?.attributes.get('Value');
  const last = (name: string) => name.replace(/^.*:/, '').slice(0, 80);
  const said = [value, detail ?? ''].map(last).join(' ').trim();
  const hint =
    detail === invalidNameIdPolicy ? `, so have it name people as saml_name_id_format asks, or change that` : '';
  const words = theirWords(childOf(status, protocol, 'StatusMessage')?.text);
  throw new SsoRefused('status_not_success', `The provider says ${said}${hint}${words}`);
}

function assertSigned(signed: Signed, wantAssertionsSigned: boolean): void {
  if (wantAssertionsSigned ? signed.assertion : signed.assertion || signed.message) return;
  throw new SsoRefused(
    'unsigned',
    signed.message ? 'The response is signed, but its assertion is not' : 'It is not signed',
  );
}

/** The assertion as it was signed: in canonical form, with nothing around it. */
async function signedAssertion(text: string, signed: Signed, expected: Expected): Promise<string> {
  const { provider, serviceProvider } = expected;
  const { SAML, ValidateInResponseTo } = await loadLibrary();
  const library = new SAML({
    idpCert: provider.certificates,
    issuer: serviceProvider.entityId,
    callbackUrl: serviceProvider.acsUrl,
    wantAuthnResponseSigned: signed.message, // each signature that is there must be right
    wantAssertionsSigned: signed.assertion,
    // All of these are checked here, by the api's clock, each with its own refusal.
    audience: false,
    acceptedClockSkewMs: -1,
    validateInResponseTo: ValidateInResponseTo.never,
  });
  let profile: Profile | null;
  try {
    ({ profile } = await library.validatePostResponseAsync({ SAMLResponse: Buffer.from(text).toString('base64') }));
  } catch (cause) {
    const aboutSignature = cause instanceof Error && /signature/i.test(cause.message);
    throw new SsoRefused(
      aboutSignature ? 'signature_invalid' : 'malformed',
      aboutSignature
        ? 'Its signature is not by a certificate of the connection, or of something else'
        : 'It cannot be read',
      { cause },
    );
  }
  const assertion = profile?.getAssertionXml?.();
  if (!assertion) throw new SsoRefused('signature_invalid', 'Its signature is on no assertion');
  return assertion;
}

/** What the response says of itself; where only its assertion is signed, this only finds mistakes. */
function assertEnvelope(response: XmlElement, signed: Signed, expected: Expected): void {
  const issuer = childOf(response, saml, 'Issuer');
  if (issuer) assertIssuer(issuer, expected.provider);
  const destination = response.attributes.get('Destination');
  // Bindings §3.5.5.2: a signed message names where it was sent.
  if (destination === undefined ? signed.message : destination !== expected.serviceProvider.acsUrl) {
    throw new SsoRefused('destination_mismatch', `Its Destination is not ${expected.serviceProvider.acsUrl}`);
  }
  assertInResponseTo(response, expected.inResponseTo);
  const issuedAt = instantOf(response, 'IssueInstant');
  if (issuedAt) assertPast(issuedAt, 'IssueInstant', expected.now);
}
