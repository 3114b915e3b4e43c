import ipaddr from 'ipaddr.js';

/** Requests without a readable address are counted together; by themselves, each could look like another one. */
const nobody = 'unknown';

/**
 * What a network address counts as in limits. Of IPv6 the first 64 bits: the least that a subscriber is given (RFC
 * 6177), who otherwise could guess from 2^64 addresses. An IPv4 address within IPv6 counts as itself.
 */
export function subscriberOf(address: string): string {
  if (!ipaddr.isValid(address)) return nobody;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString().replace(/%.*/, '')}/64`).toString()}/64`;
}
