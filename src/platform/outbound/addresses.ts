import ipaddr from 'ipaddr.js';

/** The networks, as CIDR, that development allows in addition to public addresses. */
export const loopback: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Addresses that look public, but belong to a cloud's own metadata or platform service. */
const reservedByClouds = ['168.63.129.16/32', '192.0.0.192/32'];
/** Networks that are translated to IPv4, although the library counts them as plain unicast. */
const translated = ['64:ff9b:1::/48', '2002::/16', '2001::/32'];

/** All assigned global unicast addresses of IPv6 (RFC 4291 §2.4); the library counts unassigned ones as unicast too. */
const givenInIpv6 = '2000::/3';

/**
 * Whether an address may be called on behalf of a tenant: only a public unicast one may (contract §7), in any notation.
 * Private, loopback, link-local, carrier-grade NAT, NAT64, 6to4, reserved, multicast and metadata addresses may not.
 */
export function isCallable(address: string, allowed: readonly string[] = []): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // turns an IPv4 address that is mapped into IPv6 into that address
  if (isWithin(address, allowed)) return true;
  if ([...reservedByClouds, ...translated].some((network) => contains(network, parsed))) return false;
  if (parsed.kind() === 'ipv6' && !contains(givenInIpv6, parsed)) return false;
  return parsed.range() === 'unicast';
}

/** Whether an address is in one of the networks that an operator allows. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some((network) => contains(network, parsed));
}

function contains(network: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const [base, bits] = ipaddr.parseCIDR(network);
  return base.kind() === address.kind() && address.match(base, bits);
}
