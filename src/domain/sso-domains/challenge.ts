import { randomBytes } from 'node:crypto';
import type { SsoDomain } from '../../../entities/sso-domain.js';
import type { TxtAnswer } from '../../platform/dns/answers.js';

/** Returns 160 random bits in the letters of base32hex, which DNS control panels do not change. */
export const newToken = (): string =>
  BigInt(`0x${randomBytes(20).toString('hex')}`)
    .toString(32)
    .padStart(32, '0');

/** Returns the name and value of the TXT record to publish. */
export const recordOf = ({ domain, token }: Pick<SsoDomain, 'domain' | 'token'>) => ({
  name: `_svc-verification.${domain}`,
  value: `svc-domain-verification=${token}`,
});

/** The result of a look-up for a claim; `cachedMs` is how long resolvers may cache an absence. */
export type Seen =
  | { kind: 'found' }
  | { kind: 'missed'; reason: 'record_not_found' | 'record_mismatch'; cachedMs: number }
  | { kind: 'unknown'; reason: 'dns_unavailable' };

/** @param value of the expected record; the name may have other TXT records as well */
export function judgeAnswer(answer: TxtAnswer, value: string): Seen {
  if (answer.kind === 'broken') return { kind: 'unknown', reason: 'dns_unavailable' };
  if (answer.kind === 'absent') return { kind: 'missed', reason: 'record_not_found', cachedMs: answer.cachedMs };
  // Some panels keep quotation marks that were pasted with the value.
  const isThere = answer.texts.some((text) => text.trim().replace(/^"(.*)"$/, '$1') === value);
  return isThere ? { kind: 'found' } : { kind: 'missed', reason: 'record_mismatch', cachedMs: 0 };
}
