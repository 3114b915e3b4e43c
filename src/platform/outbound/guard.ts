import { isIP, type LookupFunction } from 'node:net';
import { isCallable, isWithin } from './addresses.js';
import { OutboundError } from './errors.js';
import { type HostList, isListed } from './hosts.js';
import type { FoundAddress, ResolveName } from './names.js';

export type Guard = ReturnType<typeof createGuard>;

/**
 * What every call to a URL of a tenant's passes (contract §7): https only, public addresses only. The address that was
 * checked is the one that is connected to, so a name cannot change its mind in between.
 * @param allowedNetworks what an operator allows besides, and these alone over plain http: loopback in development.
 * @param allowedHosts the only ones that are called, wherever they are; null: any
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
    // Whoever connects takes the first one without a look, and all that runs here would end with it.
    if (addresses.length === 0) throw new OutboundError('name');
    // One bad address among good ones is a trick: refuse them all.
    if (!addresses.every(({ address }) => isCallable(address, allowedNetworks))) throw new OutboundError('address');
    if (protocol === 'http:' && !addresses.every(({ address }) => isWithin(address, allowedNetworks)))
      throw new OutboundError('scheme');
    return addresses;
  }

  /** Plain http stays within the networks that are allowed; of a name only its look-up says so, which a browser makes itself. */
  const isSchemeAllowed = (protocol: string, literal: string | null): boolean =>
    protocol === 'https:' ||
    (protocol === 'http:' && (literal ? isWithin(literal, allowedNetworks) : allowedNetworks.length > 0));

  return {
    isPublic,
    /**
     * Reads a URL, and judges what can be judged without a look-up: a literal address is connected to without one.
     * @param by who goes there: a browser that is sent somewhere is no call of ours, and not bound by the list of hosts
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
     * The look-up of one connection.
     * @param protocol that it speaks, as a URL has it
     * @param onFound hears the addresses that it may use
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

/** Why a URL cannot be registered, as far as can be said before it is called; null where nothing is against it. */
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
