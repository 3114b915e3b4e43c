import type { DecodedPacket } from 'dns-packet';

/** What became of a look-up of texts. */
export type TxtAnswer =
  | { kind: 'found'; texts: string[] }
  /** Nothing is there; `cachedMs` is how long everybody may keep that in mind (RFC 2308). */
  | { kind: 'absent'; cachedMs: number }
  /** Nobody who should know has answered. */
  | { kind: 'broken' };

/** What one answer says of a name. */
export type Reading =
  | TxtAnswer
  | { kind: 'alias'; target: string }
  | { kind: 'referral'; zone: string; servers: string[] };

/** Longer than that nobody has to keep an absence in mind, whatever the zone says (RFC 2308 §5 advises one to three hours). */
const longestCachedMs = 3 * 3_600_000;
/** No more aliases than that, so that a ring of them ends. */
const longestChain = 8;

/**
 * Reads an answer, following its aliases as far as it goes.
 * @param zone whose servers were asked for what they are responsible for; null: a resolver that asks on our behalf
 */
export function readAnswer(answer: DecodedPacket, name: string, zone: string | null): Reading {
  const { rcode } = answer as { rcode?: string };
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') return { kind: 'broken' };
  const referral = zone === null ? null : referralOf(answer, name, zone);
  if (referral) return referral;
  if (zone !== null && !answer.flag_aa) return { kind: 'broken' }; // it is not responsible, whatever it says

  const records = answer.answers ?? [];
  let current = name;
  for (let i = 0; i < longestChain; i++) {
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

/** The strings of one record are one text (RFC 7208 §3.3 has them joined without a blank, and so does everybody). */
const textOf = (data: Buffer | string | (Buffer | string)[]) =>
  (Array.isArray(data) ? data : [data]).map((part) => part.toString()).join('');

/** A zone further down that others are responsible for: on the way to the name, so that nobody is led back. */
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
  return Math.min(longestCachedMs, 1000 * Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0));
}

const bare = (name: string) => name.toLowerCase().replace(/\.$/, '');
const isSame = (a: string, b: string) => bare(a) === bare(b);
const isBelow = (name: string, zone: string) => bare(zone) === '' || bare(name).endsWith(`.${bare(zone)}`);
