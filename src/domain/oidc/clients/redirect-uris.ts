const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?((?:[/?].*)?)$/;

/** Whether a redirect URI is registered: as it is, or on another port of a loopback IP address (RFC 8252 §7.3). */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  return registered.includes(uri) || registered.some((other) => differInPortOnly(uri, other));
}

function differInPortOnly(uri: string, registered: string): boolean {
  const [, host, port, rest] = loopback.exec(uri) ?? [];
  const [, registeredHost, , registeredRest] = loopback.exec(registered) ?? [];
  return host !== undefined && host === registeredHost && rest === registeredRest && Number(port ?? 80) <= 65_535;
}

/**
 * Whether any program on the person's device may be listening there: on a loopback port, or for a private-use scheme,
 * which several can claim (RFC 8252 §8.6). Every registered URI that is not https is one of the two.
 */
export const staysOnDevice = (uri: string): boolean => new URL(uri).protocol !== 'https:';

/** A redirect URI with parameters added, and otherwise left exactly as it was registered. */
export function withParameters(uri: string, parameters: Record<string, string | null | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] != null);
  const query = new URLSearchParams(given).toString();
  if (query === '') return uri;
  return `${uri}${!uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'}${query}`;
}

/**
 * The site of a client, as far as its registration tells: the origin of its first web redirect URI. A URI with `http`
 * is a loopback address, and comes last, since people are mostly elsewhere; without a port it belongs to a native
 * application (RFC 8252 §7.3), where nobody is listening by now.
 */
export function siteOf(redirectUris: readonly string[]): string | null {
  const uris = redirectUris.map((uri) => new URL(uri));
  const site =
    uris.find(({ protocol }) => protocol === 'https:') ??
    uris.find(({ protocol, port }) => protocol === 'http:' && port !== '');
  return site?.origin ?? null;
}

/** The target of a browser, as people know it: the host, or the scheme of an app (RFC 8252 §7.1). */
export function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return host || protocol.slice(0, -1);
}
