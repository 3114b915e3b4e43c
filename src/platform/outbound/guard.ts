import { isIP, type LookupFunction } from 'node:net';
import { isCallable, isWithin } from './addresses.js';
import { OutboundError } from './errors.js';
import { type HostList, isListed } from './hosts.js';
import type { FoundAddress, ResolveName } from './names.js';

export type Guard = ReturnType<typeof createGuard>;

/**
 * Checks every call to a URL that a tenant gave (contract §7): only https, only public addresses. The connection uses
 * the address that was checked, so a name cannot change its address in between (DNS rebinding).
 * @param allowedNetworks what an operator allows besides, and alone may use plain http: loopback in development
 * @param allowedHosts the only hosts that may be called, wherever they are; null: any
 */
export function createGuard({
  allowedNetworks,
  allowedHosts = null,
  resolveName,
  isPublic = (address) => isCallable(address),
}: {
  allowedNetworks: readonly string[];
  allowedHosts?: HostList | null;
  resolveName: ResolveName;
  isPublic?: (address: string) => boolean;
}) {
  async function callableAddresses(hostname: string, protocol: string): Promise<FoundAddress[]> {
    const addresses = await resolveName(hostname);
    // The connecting code uses the first address unchecked: an empty list would end the whole process.
    if (addresses.length === 0) throw new OutboundError('name');
    // One forbidden address among public ones is a trick: all are refused.
    if (!addresses.every(({ address }) => isCallable(address, allowedNetworks))) throw new OutboundError('address');
    if (protocol === 'http:' && !addresses.every(({ address }) => isWithin(address, allowedNetworks)))
      throw new OutboundError('scheme');
    return addresses;
  }

  /** Plain http only reaches the allowed networks. A name is checked at its look-up, which a browser does itself. */
  const isSchemeAllowed = (protocol: string, literal: string | null): boolean =>
    protocol === 'https:' ||
    (protocol === 'http:' && (literal ? isWithin(literal, allowedNetworks) : allowedNetworks.length > 0));

  return {
    isPublic,
    /**
     * Parses a URL and checks what can be checked without a look-up: a literal address has none.
     * @param by who opens it: the list of hosts is only for our own calls, not for a browser that is redirected
     * @throws OutboundError host, scheme, address
     */
    enter(url: string, by: 'us' | 'browser' = 'us'): { target: URL; literal: string | null } {
      const target = new URL(url);
      if (by === 'us' && allowedHosts && !isListed(target.hostname, allowedHosts)) throw new OutboundError('host');
      const host = target.hostname.replace(/^\[|\]$/g, '');
      const literal = isIP(host) ? host : null;
      if (literal && !isCallable(literal, allowedNetworks)) throw new OutboundError('address');
      if (!isSchemeAllowed(target.protocol, literal)) throw new OutboundError('scheme');
      return { target, literal };
    },
    /**
     * Returns the look-up function for one connection.
     * @param protocol its protocol, as in a URL
     * @param onFound called with the addresses that it may use
     */
    lookup:
      (protocol: string, onFound: (addresses: FoundAddress[]) => void = () => {}): LookupFunction =>
      (hostname, { all }, callback) => {
        callableAddresses(hostname, protocol).then(
          (addresses) => {
            onFound(addresses);
            const [first] = addresses;
            if (all) callback(null, addresses);
            else callback(null, first!.address, first!.family);
          },
          (error) => callback(error ?? new OutboundError('name'), []),
        );
      },
  };
}

/** Returns why a URL cannot be registered, as far as that is known without a call; null if it can. */
export function faultOfTarget(
  guard: Pick<Guard, 'enter'>,
  url: string,
  by: 'us' | 'browser' = 'us',
): { code: string; message: string } | null {
  try {
    guard.enter(url, by);
    return null;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { code: error.reason, message: error.reason === 'scheme' ? 'must use https' : error.message };
  }
}
