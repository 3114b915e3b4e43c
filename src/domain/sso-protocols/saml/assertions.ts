import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { clockSkewMs, minutes } from '../../../platform/clock.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import { addressOf, attributesOf } from './attributes.js';
import { amrOfContext } from './authn-context.js';
import type { SamlProvider, ServiceProvider } from './settings.js';
import { assertNothingEncrypted } from './signatures.js';
import { lastingNameOf, nameIdOf, transientSessionOf } from './subjects.js';
import { assertInTime, assertPast, instantOf, skewed } from './times.js';
import { childOf, childrenOf, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml } = samlNamespaces;
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
/** The greatest age of an unsolicited response: no request limits it, so its own dates must not reach further. */
const unsolicitedMs = minutes(10);

/** What an assertion is checked against. */
export interface Expected {
  connection: SsoConnection;
  provider: SamlProvider;
  serviceProvider: ServiceProvider;
  /** The `ID` of our AuthnRequest; null for an unsolicited response (SAML 2.0 Profiles §4.1.5). */
  inResponseTo: string | null;
  now: Date;
}

/**
 * Reads an assertion whose signature is verified already, and checks its contents (SAML 2.0 Profiles §4.1.4.2 and
 * §4.1.4.3, Core §2.5).
 * @param assertion read from the signed bytes, and from nothing else
 * @throws SsoRefused
 */
export function readAssertion(assertion: XmlElement, expected: Expected): Assertion {
  const { connection, provider, now } = expected;
  assertNothingEncrypted(assertion);
  const id = assertion.attributes.get('ID');
  const issuedAt = instantOf(assertion, 'IssueInstant');
  if (assertion.attributes.get('Version') !== '2.0' || !id || !issuedAt) {
    throw new SsoRefused('malformed', 'Its assertion lacks a version, an id or the time when it was issued');
  }
  const issuer = assertIssuer(childOf(assertion, saml, 'Issuer'), provider);
  assertConditions(childOf(assertion, saml, 'Conditions'), expected);
  const subject = childOf(assertion, saml, 'Subject');
  if (!subject) throw new SsoRefused('subject_missing', 'Its assertion has no Subject');
  const confirmedUntil = assertConfirmed(subject, expected);
  assertPast(issuedAt, 'IssueInstant', now);
  if (!expected.inResponseTo && now.getTime() - issuedAt.getTime() > unsolicitedMs + clockSkewMs) {
    throw new SsoRefused('expired', 'It is unsolicited, and older than ten minutes');
  }
  const authentication = authenticationOf(assertion, now);
  const nameId = nameIdOf(subject);
  const attributes = attributesOf(assertion);
  return {
    issuer,
    subject: lastingNameOf(nameId, attributes, expected),
    email: addressOf(nameId, attributes, connection.attributeMapping),
    emailVerified: null,
    attributes,
    amr: amrOfContext(authentication.contextClass, attributes),
    authenticatedAt: authentication.at,
    sessionIndex: transientSessionOf(nameId) ?? authentication.sessionIndex,
    handle: { protocol: 'saml', nameId, sessionIndex: authentication.sessionIndex },
    sessionUntil: authentication.until && skewed(authentication.until),
    once: { id, until: skewed(confirmedUntil) },
  };
}

/** @throws SsoRefused unless it names the connection's provider (Core §2.2.5) */
export function assertIssuer(issuer: XmlElement | null, provider: SamlProvider): string {
  const named = issuer?.text.trim() ?? '';
  const format = issuer?.attributes.get('Format') ?? 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity';
  if (named !== provider.entityId || format !== 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity') {
    throw new SsoRefused(
      'issuer_mismatch',
      `It is from ${JSON.stringify(named.slice(0, 200))}, not from the connection's provider`,
    );
  }
  return named;
}

function assertConditions(conditions: XmlElement | null, { serviceProvider, now }: Expected): void {
  const restrictions = conditions ? childrenOf(conditions, saml, 'AudienceRestriction') : [];
  // Each restriction must hold; one matching audience is enough for it (Core §2.5.1.4).
  const meant = restrictions.every((restriction) =>
    childrenOf(restriction, saml, 'Audience').some(({ text }) => text.trim() === serviceProvider.entityId),
  );
  if (!conditions || !restrictions.length || !meant) {
    throw new SsoRefused('audience_mismatch', `Its audience is not ${serviceProvider.entityId}`);
  }
  const known = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']);
  if (conditions.children.some(({ namespace, name }) => namespace !== saml || !known.has(name))) {
    throw new SsoRefused('malformed', 'It has an unknown condition, which cannot be checked');
  }
  assertInTime(conditions, now);
}

/**
 * Returns when the last valid confirmation ends, since the assertion could be sent again until then. If none is valid,
 * throws the first refusal of a bearer one.
 */
function assertConfirmed(subject: XmlElement, expected: Expected): Date {
  const refusals: SsoRefused[] = [];
  const ends: number[] = [];
  for (const confirmation of childrenOf(subject, saml, 'SubjectConfirmation')) {
    if (confirmation.attributes.get('Method') !== bearer) continue;
    try {
      ends.push(confirmedBy(childOf(confirmation, saml, 'SubjectConfirmationData'), expected).getTime());
    } catch (refusal) {
      if (!(refusal instanceof SsoRefused)) throw refusal;
      refusals.push(refusal);
    }
  }
  if (ends.length > 0) return new Date(Math.max(...ends));
  throw refusals[0] ?? new SsoRefused('malformed', 'Nothing confirms that its bearer is the Subject');
}

function confirmedBy(data: XmlElement | null, { serviceProvider, inResponseTo, now }: Expected): Date {
  const until = data && instantOf(data, 'NotOnOrAfter');
  if (!data || !until) throw new SsoRefused('malformed', 'Its SubjectConfirmationData has no NotOnOrAfter');
  if (data.attributes.get('Recipient') !== serviceProvider.acsUrl) {
    throw new SsoRefused('recipient_mismatch', `Its Recipient is not ${serviceProvider.acsUrl}`);
  }
  assertInResponseTo(data, inResponseTo);
  assertInTime(data, now);
  return until;
}

/** @throws SsoRefused unless it answers our request, or, if there was none, no request */
export function assertInResponseTo({ attributes, name }: XmlElement, inResponseTo: string | null): void {
  if ((attributes.get('InResponseTo') ?? null) !== inResponseTo) {
    throw new SsoRefused(
      'in_response_to_mismatch',
      `The InResponseTo of its ${name} is not the request that it should answer`,
    );
  }
}

function authenticationOf(assertion: XmlElement, now: Date) {
  const [statement, ...others] = childrenOf(assertion, saml, 'AuthnStatement');
  const at = statement && instantOf(statement, 'AuthnInstant');
  if (!statement || !at || others.length) {
    throw new SsoRefused('malformed', 'Its assertion does not have one AuthnStatement with its AuthnInstant');
  }
  assertPast(at, 'AuthnInstant', now);
  assertInTime(statement, now, 'SessionNotOnOrAfter');
  const until = instantOf(statement, 'SessionNotOnOrAfter');
  const context = childOf(statement, saml, 'AuthnContext');
  const contextClass = context && childOf(context, saml, 'AuthnContextClassRef');
  return {
    at,
    until,
    sessionIndex: statement.attributes.get('SessionIndex') ?? null,
    contextClass: contextClass?.text.trim() ?? null,
  };
}
