import ipaddr from 'ipaddr.js';

/** What comes from no address that can be read is counted together: as itself, it could be another one each time. */
const nobody = 'unknown';

/**
 * What a network address is counted as where addresses are limited. Of IPv6 the first 64 bits: that is the least that a
 * subscriber is given (RFC 6177), who else would have 2^64 addresses to guess from. An IPv4 address in IPv6 is that address.
 */
export function subscriberOf(address: string): string {
  if (!ipaddr.isValid(address)) return nobody;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString().replace(/%.*/, '')}/64`).toString()}/64`;
}
