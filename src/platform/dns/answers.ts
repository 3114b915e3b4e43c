import type { DecodedPacket } from 'dns-packet';

/** The result of a look-up of TXT records. */
export type TxtAnswer =
  | { kind: 'found'; texts: string[] }
  /** The name has no such record; `cachedMs` is how long resolvers may cache that (RFC 2308). */
  | { kind: 'absent'; cachedMs: number }
  /** No server gave a usable answer. */
  | { kind: 'broken' };

/** What one answer says about a name. */
export type Reading =
  | TxtAnswer
  | { kind: 'alias'; target: string }
  | { kind: 'referral'; zone: string; servers: string[] };

/** The longest that resolvers may cache an absence, whatever the zone says (RFC 2308 §5 advises one to three hours). */
const maxCachedMs = 3 * 3_600_000;
/** The most aliases that are followed in one answer, so that a loop of aliases ends. */
const maxChainLength = 8;

/**
 * Reads an answer, following its aliases as far as they are in it.
 * @param zone the zone whose authoritative servers were asked; null if a recursive resolver was asked
 */
export function readAnswer(answer: DecodedPacket, name: string, zone: string | null): Reading {
  const { rcode } = answer as { rcode?: string };
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') return { kind: 'broken' };
  const referral = zone === null ? null : referralOf(answer, name, zone);
  if (referral) return referral;
  if (zone !== null && !answer.flag_aa) return { kind: 'broken' }; // the server is not authoritative

  const records = answer.answers ?? [];
  let current = name;
  for (let i = 0; i < maxChainLength; i++) {
    const texts = records.flatMap((one) =>
      one.type === 'TXT' && isSame(one.name, current)
        ? [textOf(one.data as Buffer | string | (Buffer | string)[])]
        : [],
    );
    if (texts.length > 0) return { kind: 'found', texts };
    const alias = records.find((one) => one.type === 'CNAME' && isSame(one.name, current));
    if (alias?.type !== 'CNAME') break;
    current = alias.data;
  }
  if (!isSame(current, name)) return { kind: 'alias', target: current };
  return { kind: 'absent', cachedMs: cachedMs(answer) };
}

/** Joins the strings of one record without a blank (RFC 7208 §3.3, and common practice). */
const textOf = (data: Buffer | string | (Buffer | string)[]) =>
  (Array.isArray(data) ? data : [data]).map((part) => part.toString()).join('');

/** Returns the delegation to a zone below `zone` that is at or above the name, so that no server leads us back up. */
function referralOf(answer: DecodedPacket, name: string, zone: string): Reading | null {
  if (answer.flag_aa || (answer.answers ?? []).length > 0) return null;
  const delegations = (answer.authorities ?? []).flatMap((one) =>
    one.type === 'NS' && isBelow(one.name, zone) && (isSame(one.name, name) || isBelow(name, one.name)) ? [one] : [],
  );
  const [first] = delegations;
  return first ? { kind: 'referral', zone: first.name, servers: delegations.map(({ data }) => data) } : null;
}

function cachedMs(answer: DecodedPacket): number {
  const soa = (answer.authorities ?? []).find((one) => one.type === 'SOA');
  if (soa?.type !== 'SOA') return 0;
  return Math.min(maxCachedMs, 1000 * Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0));
}

const bare = (name: string) => name.toLowerCase().replace(/\.$/, '');
const isSame = (a: string, b: string) => bare(a) === bare(b);
const isBelow = (name: string, zone: string) => bare(zone) === '' || bare(name).endsWith(`.${bare(zone)}`);
