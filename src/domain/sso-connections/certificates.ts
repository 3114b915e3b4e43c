import { X509Certificate } from 'node:crypto';
import { days } from '../../platform/clock.js';
import { certificatePattern, certificatesIn } from '../sso-protocols/saml/certificates.js';

/** How long before a provider's last certificate ends whoever looks after the connection is told: the earliest first. */
export const warnings = [days(30), days(7)] as const;

/** More than a provider needs while it changes its key. */
const most = 8;

export interface CertificateProblem {
  code: 'malformed' | 'too_many' | 'expired' | 'weak_key';
  message: string;
}

/**
 * The certificates in a text, each in PEM, behind each other: whoever signs with the key of any of them is the provider. Their
 * issuers do not matter, since they are trusted by being named here; one that has expired is not taken, so that nobody
 * configures one that was replaced already. Of those that are named already the dates do not matter either.
 * @param inUse the stored text
 * @returns them as they are stored, or what is wrong with the text
 */
export function readCertificates(
  text: string,
  now: Date,
  inUse: string | null = null,
): { pem: string } | CertificateProblem {
  const blocks = certificatesIn(text);
  if (blocks.length === 0 || text.replace(certificatePattern, '').trim() !== '')
    return { code: 'malformed', message: 'must be certificates in PEM, and nothing else' };
  if (blocks.length > most) return { code: 'too_many', message: `must be at most ${most} certificates` };
  const certificates = blocks.map(parsed);
  if (certificates.includes(null)) return { code: 'malformed', message: 'contains a certificate that cannot be read' };
  const read = certificates as X509Certificate[];
  const known = new Set(readIn(inUse ?? '').map(String));
  const problem = read.map((one) => problemOf(one, now, known.has(String(one)))).find((one) => one !== null);
  return problem ?? { pem: read.map(String).join('') };
}

/** Those of some certificates that can be used now, or are in use: what a provider publishes may still name old ones. */
export const usableOf = (pems: readonly string[], now: Date, inUse: string | null): string[] =>
  pems.filter((pem) => 'pem' in readCertificates(pem, now, inUse));

/** What a certificate says that anybody asks: which it is, and from when to when it is meant to be used. */
export interface CertificateDates {
  /** Of all of it, as others show it: 32 bytes in hexadecimal with colons. */
  fingerprintSha256: string;
  notBefore: Date;
  notAfter: Date;
}

/** Those of a stored text. */
export const datesOf = (pem: string): CertificateDates[] =>
  readIn(pem).map((one) => ({
    fingerprintSha256: one.fingerprint256,
    notBefore: new Date(one.validFrom),
    notAfter: endOf(one),
  }));

/** When the last certificate of a stored text ends; null where there is none. */
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
