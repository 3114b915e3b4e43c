import ipaddr from 'ipaddr.js';

/** Requests without a readable address are counted together: otherwise each could pass for another caller. */
const nobody = 'unknown';

/**
 * Returns what a network address counts as in limits. For IPv6 these are the first 64 bits: a subscriber gets at least
 * a /64 (RFC 6177), and could otherwise guess from 2^64 addresses. An IPv4 address within IPv6 counts as itself.
 */
export function subscriberOf(address: string): string {
  if (!ipaddr.isValid(address)) return nobody;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString().replace(/%.*/, '')}/64`).toString()}/64`;
}
