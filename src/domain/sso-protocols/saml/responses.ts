import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import { providerMessage } from '../provider-message.js';
import { assertInResponseTo, assertIssuer, type Expected, readAssertion } from './assertions.js';
import { openAssertion } from './encrypted-assertions.js';
import { decodeMessage } from './messages.js';
import type { ServiceProviderKey } from './requests.js';
import { providerOf, samlServiceProviderOf } from './settings.js';
import { assertIdsUnique, assertMessage, onlyAssertionOf, type Signed, signaturesOf } from './signatures.js';
import { assertPast, instantOf } from './times.js';
import { verifiedElement } from './verified.js';
import { childOf, everyElement, readXml, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml, protocol } = samlNamespaces;
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const invalidNameIdPolicy = 'urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy';
/** In characters. Hundreds of groups fit; larger responses are not read at all. */
const maxLength = 256 * 1024;

export interface ResponseToVerify {
  /** As it was posted, base64 (SAML 2.0 Bindings §3.5.4). */
  samlResponse: string;
  expects: { requestId: string | null };
}

/** What is needed to check a response. */
export interface Receiving {
  baseUrl: string;
  /** Returns the key to which responses may be encrypted; called only for such a response. */
  keyOf: (connection: SsoConnection) => Promise<ServiceProviderKey>;
  now: Date;
}

/**
 * Checks a provider's response (SAML 2.0 Profiles §4.1.4.3). Anything that could be read in two ways is refused before
 * a signature is verified, and everything that is trusted afterwards is read from the bytes that were signed.
 * @throws SsoRefused
 */
export async function verifyResponse(
  connection: SsoConnection,
  { samlResponse, expects }: ResponseToVerify,
  { baseUrl, keyOf, now }: Receiving,
): Promise<Assertion> {
  const provider = providerOf(connection);
  const serviceProvider = samlServiceProviderOf(baseUrl, connection.id);
  const inResponseTo = expects.requestId === null ? null : `_${expects.requestId}`;
  const expected: Expected = { connection, provider, serviceProvider, inResponseTo, now };
  const text = decodeMessage(samlResponse, maxLength);
  const response = readXml(text, { maxLength });
  assertMessage(response, 'Response');
  const carried = onlyAssertionOf(response);
  const isEncrypted = carried?.name === 'EncryptedAssertion';
  const signed = signaturesOf(response, { assertion: isEncrypted ? null : carried });
  assertSuccess(response);
  if (!carried) throw new SsoRefused('malformed', 'It has no assertion');
  if (!isEncrypted) assertSigned(signed, connection.samlWantAssertionsSigned);
  const message = signed.message ? await verifiedElement(text, response, provider) : null;
  const assertion = isEncrypted
    ? await decryptedAssertion({ response, message }, expected, keyOf)
    : signed.assertion
      ? await verifiedElement(text, carried, provider)
      : message && onlyAssertionOf(message);
  if (!assertion) throw new SsoRefused('signature_invalid', 'Its signature does not cover an assertion');
  const isAnswer = answers(assertion, inResponseTo);
  signedByProvider(isAnswer && signed.message, () => assertEnvelope(message ?? response, signed, expected));
  return signedByProvider(isAnswer, () => {
    const said = readAssertion(assertion, expected);
    if (inResponseTo === null) assertIdpInitiatedAllowed(connection);
    return said;
  });
}

/** @throws SsoRefused idp_initiated_disabled */
function assertIdpInitiatedAllowed({ samlAllowIdpInitiated }: SsoConnection): void {
  if (samlAllowIdpInitiated) return;
  throw new SsoRefused('idp_initiated_disabled', 'It is unsolicited, and saml_allow_idp_initiated is false');
}

/**
 * Returns the decrypted assertion, as it was signed: by itself, or in the message around it, which is verified before
 * anything in it is decrypted.
 * @param message as it was signed; null if it was not
 */
async function decryptedAssertion(
  { response, message }: { response: XmlElement; message: XmlElement | null },
  { connection, provider, serviceProvider: { entityId }, inResponseTo }: Expected,
  keyOf: Receiving['keyOf'],
): Promise<XmlElement> {
  const { privateKey } = await keyOf(connection);
  const isSigned = message !== null;
  const isAnswer = (message?.attributes.get('InResponseTo') ?? null) === inResponseTo;
  const { text, element, signed } = signedByProvider(isSigned && isAnswer, () => {
    const encrypted = onlyAssertionOf(message ?? response);
    if (!encrypted) throw new SsoRefused('signature_invalid', 'Its signature does not cover an assertion');
    const opened = openAssertion(encrypted, { privateKey, entityId, isSigned, maxLength });
    const own = signaturesOf(opened.element, { assertion: null }).message;
    assertIdsUnique(response, opened.element);
    const signed = { message: isSigned, assertion: own };
    assertSigned(signed, connection.samlWantAssertionsSigned);
    return { ...opened, signed };
  });
  return signed.assertion ? verifiedElement(text, element, provider) : element;
}

/**
 * Marks a refusal with whether the provider itself sent what is refused, in response to this request. Otherwise it is
 * the word of the person who posted it, who may have an earlier signed response, or a forged envelope around a new one.
 */
function signedByProvider<T>(isSigned: boolean, read: () => T): T {
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

/** @throws SsoRefused unless its Status is success (Core §3.2.2.1) */
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
    detail === invalidNameIdPolicy
      ? ': have it send the NameID format of saml_name_id_format, or change that setting'
      : '';
  const words = providerMessage(childOf(status, protocol, 'StatusMessage')?.text);
  throw new SsoRefused('status_not_success', `The provider says ${said}${hint}${words}`);
}

function assertSigned(signed: Signed, wantAssertionsSigned: boolean): void {
  if (wantAssertionsSigned ? signed.assertion : signed.assertion || signed.message) return;
  throw new SsoRefused(
    'unsigned',
    signed.message ? 'The response is signed, but its assertion is not' : 'It is not signed',
  );
}

/** Checks the response around the assertion. If only the assertion is signed, this finds mistakes, but not attacks. */
function assertEnvelope(response: XmlElement, signed: Signed, expected: Expected): void {
  const issuer = childOf(response, saml, 'Issuer');
  if (issuer) assertIssuer(issuer, expected.provider);
  const destination = response.attributes.get('Destination');
  // Bindings §3.5.5.2: a signed message has to name its destination.
  if (destination === undefined ? signed.message : destination !== expected.serviceProvider.acsUrl) {
    throw new SsoRefused('destination_mismatch', `Its Destination is not ${expected.serviceProvider.acsUrl}`);
  }
  assertInResponseTo(response, expected.inResponseTo);
  const issuedAt = instantOf(response, 'IssueInstant');
  if (issuedAt) assertPast(issuedAt, 'IssueInstant', expected.now);
}
