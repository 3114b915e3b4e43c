import { randomBytes } from 'node:crypto';
import type { SsoDomain } from '../../../entities/sso-domain.js';
import type { TxtAnswer } from '../../platform/dns.js';

/** 160 bits; in base32hex's letters, so that no panel for zones changes it. */
export const newToken = (): string =>
  BigInt(`0x${randomBytes(20).toString('hex')}`)
    .toString(32)
    .padStart(32, '0');

/** What is to be published, and where. */
export const recordOf = ({ domain, token }: Pick<SsoDomain, 'domain' | 'token'>) => ({
  name: `_svc-verification.${domain}`,
  value: `svc-domain-verification=${token}`,
});

/** What a look says of a claim; `cachedMs` is how long an absence may be kept in mind. */
export type Seen =
  | { kind: 'found' }
  | { kind: 'missed'; reason: 'record_not_found' | 'record_mismatch'; cachedMs: number }
  | { kind: 'unknown'; reason: 'dns_unavailable' };

/** @param value of the record that is looked for; other texts may stand beside it */
export function judgeAnswer(answer: TxtAnswer, value: string): Seen {
  if (answer.kind === 'broken') return { kind: 'unknown', reason: 'dns_unavailable' };
  if (answer.kind === 'absent') return { kind: 'missed', reason: 'record_not_found', cachedMs: answer.cachedMs };
  // Some panels keep the quotation marks that were pasted with it.
  const isThere = answer.texts.some((text) => text.trim().replace(/^"(.*)"$/, '$1') === value);
  return isThere ? { kind: 'found' } : { kind: 'missed', reason: 'record_mismatch', cachedMs: 0 };
}
