import { isIP, type LookupFunction } from 'node:net';
import { isCallable } from './addresses.js';
import { OutboundError } from './errors.js';
import { type HostList, isListed } from './hosts.js';
import type { FoundAddress, ResolveName } from './names.js';

export type Guard = ReturnType<typeof createGuard>;

/**
 * What every call to a URL of a tenant's passes (contract §7): https only, public addresses only. The address that was
 * checked is the one that is connected to, so a name cannot change its mind in between.
 * @param allowedNetworks what an operator allows besides, also over plain http: loopback in development.
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
  async function callableAddresses(hostname: string): Promise<FoundAddress[]> {
    const addresses = await resolveName(hostname);
    // One bad address among good ones is a trick: refuse them all.
    if (!addresses.every(({ address }) => isCallable(address, allowedNetworks))) throw new OutboundError('address');
    return addresses;
  }

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
      if (target.protocol !== 'https:' && !(target.protocol === 'http:' && allowedNetworks.length > 0))
        throw new OutboundError('scheme');
      return { target, literal };
    },
    /** The look-up of one connection. @param onFound hears the addresses that it may use */
    lookup:
      (onFound: (addresses: FoundAddress[]) => void = () => {}): LookupFunction =>
      (hostname, { all }, callback) => {
        callableAddresses(hostname).then(
          (addresses) => {
            onFound(addresses);
            const [first] = addresses;
            if (all) callback(null, addresses);
            else callback(null, first!.address, first!.family);
          },
          (error) => callback(error, []),
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
