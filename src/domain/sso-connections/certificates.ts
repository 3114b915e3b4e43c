import { X509Certificate } from 'node:crypto';
import { days } from '../../platform/clock.js';
import { certificatePattern, certificatesIn } from '../sso-protocols/saml/certificates.js';

/** How long before a provider's last certificate expires the managers of the connection are warned, earliest first. */
export const warnings = [days(30), days(7)] as const;

/** The maximum number of certificates, more than a provider needs while it changes its key. */
const maxCertificates = 8;

export interface CertificateProblem {
  code: 'malformed' | 'too_many' | 'expired' | 'weak_key';
  message: string;
}

/**
 * Reads a text of concatenated PEM certificates. A signature by the key of any of them is accepted as the provider's.
 * Their issuers do not matter, since being configured here makes them trusted. An expired certificate is refused, so
 * that nobody configures one that has been replaced, unless it is configured already.
 * @param inUse the stored text
 * @returns the certificates in the form in which they are stored, or what is wrong with the text
 */
export function readCertificates(
  text: string,
  now: Date,
  inUse: string | null = null,
): { pem: string } | CertificateProblem {
  const blocks = certificatesIn(text);
  if (blocks.length === 0 || text.replace(certificatePattern, '').trim() !== '')
    return { code: 'malformed', message: 'must be certificates in PEM, and nothing else' };
  if (blocks.length > maxCertificates)
    return { code: 'too_many', message: `must be at most ${maxCertificates} certificates` };
  const certificates = blocks.map(parsed);
  if (certificates.includes(null)) return { code: 'malformed', message: 'contains a certificate that cannot be read' };
  const read = certificates as X509Certificate[];
  const known = new Set(readIn(inUse ?? '').map(String));
  const problem = read.map((one) => problemOf(one, now, known.has(String(one)))).find((one) => one !== null);
  return problem ?? { pem: read.map(String).join('') };
}

/** Returns the certificates that are usable now or in use already: a provider may still publish old ones. */
export const usableOf = (pems: readonly string[], now: Date, inUse: string | null): string[] =>
  pems.filter((pem) => 'pem' in readCertificates(pem, now, inUse));

/** The fingerprint and the validity period of a certificate. */
export interface CertificateDates {
  /** The usual fingerprint of the whole certificate: 32 bytes in hexadecimal with colons. */
  fingerprintSha256: string;
  notBefore: Date;
  notAfter: Date;
}

/** Returns the fingerprints and validity periods of the certificates in a stored text. */
export const datesOf = (pem: string): CertificateDates[] =>
  readIn(pem).map((one) => ({
    fingerprintSha256: one.fingerprint256,
    notBefore: new Date(one.validFrom),
    notAfter: endOf(one),
  }));

/** Returns when the last certificate of a stored text expires; null if there is none. */
export const lastEndOf = (pem: string): Date | null =>
  readIn(pem)
    .map(endOf)
    .reduce<Date | null>((latest, end) => (latest && latest > end ? latest : end), null);

const readIn = (pem: string): X509Certificate[] => certificatesIn(pem).flatMap((one) => parsed(one) ?? []);

function parsed(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

const endOf = ({ validTo }: X509Certificate): Date => new Date(validTo);

function problemOf(certificate: X509Certificate, now: Date, isInUse: boolean): CertificateProblem | null {
  const { publicKey, subject } = certificate;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const isStrong = type === 'rsa' && details!.modulusLength! >= 2048;
  const name = subject?.replaceAll('\n', ', ') || 'without a name';
  if (!isStrong) return { code: 'weak_key', message: `the key of ${name} must be RSA of 2048 bits or more` };
  const validTo = endOf(certificate);
  if (validTo > now || isInUse) return null;
  return { code: 'expired', message: `the certificate of ${name} has expired on ${validTo.toISOString()}` };
}
