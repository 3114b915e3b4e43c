import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';

// Parsers and checks for the values of settings; each throws an Error that says what is wrong.

/** Parses an http or https origin. */
export function originOf(text: string): string {
  const url = withoutUser(urlOf(text, ['http', 'https']));
  if (url.pathname !== '/' || url.search || url.hash) throw new Error('must be an origin, without path or query');
  return url.origin;
}

/** Refuses http, which would send passwords and tokens in the clear, except to this machine. */
export function assertSafeOrigin(origin: string): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return;
  throw new Error('must start with https:// in production');
}

/** Returns the contents of a PEM file with certificates or a key; undefined without a path. */
export function pemOf(path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined;
  const text = readOrNull(path);
  if (!text?.includes('-----BEGIN ')) throw new Error('must be the path of a file in PEM');
  return text;
}

/** Checks that a certificate and a private key match. Another check reports one without the other. */
export function assertPair(cert: Buffer | undefined, key: Buffer | undefined): void {
  if (!cert || !key) return;
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new Error('must be the path of the private key of TEMPORAL_TLS_CLIENT_CERT_PATH, without a passphrase');
  }
}

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null; // missing, not a file, or not readable for us
  }
}

/** The URL schemes of the settings that name a server. */
export const schemesOf = {
  DATABASE_URL: ['postgres', 'postgresql'],
  DATABASE_OWNER_URL: ['postgres', 'postgresql'],
  SMTP_URL: ['smtp', 'smtps'],
};

/** Parses an absolute URL of one of these schemes. */
export function urlOf(text: string, schemes: string[]): URL {
  if (!URL.canParse(text)) throw new Error('must be a URL');
  const url = new URL(text);
  if (!schemes.includes(url.protocol.slice(0, -1))) {
    throw new Error(`must start with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`);
  }
  return url;
}

/** Refuses user and password, which the operator meant to be used: `fetch` refuses such a URL, an origin drops them. */
export function withoutUser(url: URL): URL {
  if (url.username || url.password) throw new Error('must be without user and password');
  return url;
}

/** Returns the URL of a service that is called over HTTP. @param or what the setting may be instead, for the error */
export function callableUrlOf(text: string, or?: string): string {
  if (or && !/:\/\//.test(text)) throw new Error(`must be a URL or ${or}`);
  return withoutUser(urlOf(text, ['http', 'https'])).href;
}

/** Matches several hosts in libpq's form: `//user@one,two:5433/`. */
const severalHosts = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,(?![^/?#]*@)/;

/** Checks the URL of PostgreSQL or a mail server for everything on which its driver would fail. */
export function assertServerUrl(text: string, schemes: string[]): void {
  const named = URL.canParse(text) ? (new URL(text).searchParams.get('host') ?? '') : '';
  if (severalHosts.test(text) || named.includes(','))
    throw new Error('must name one host: of several, none is tried after another');
  const { username, password, hostname, searchParams } = urlOf(text, schemes);
  if (!hostname && !searchParams.has('host')) throw new Error('must name a host');
  for (const part of [username, password]) if (!isDecodable(part)) throw new Error('must have % in a password as %25');
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = searchParams.get(name);
    if (path !== null && !readOrNull(path)?.includes('-----BEGIN ')) {
      throw new Error(`must have the path of a file in PEM as ${name}`);
    }
  }
  if (searchParams.has('target_session_attrs'))
    throw new Error('must be without target_session_attrs: there is one host to choose');
  const mode = searchParams.get('sslmode');
  if (mode !== null && !sslModes.includes(mode)) throw new Error(`must have an sslmode of ${sslModes.join(', ')}`);
}

/**
 * Checks that the owner's URL and the service's name the same database if they name the same server: otherwise the
 * schema of another database would be changed. A pooler in between may have another name for it.
 */
export function assertSameDatabase(ownerUrl: string | undefined, serviceUrl: string | undefined): void {
  if (!ownerUrl || !serviceUrl || !URL.canParse(ownerUrl) || !URL.canParse(serviceUrl)) return;
  const [owner, service] = [new URL(ownerUrl), new URL(serviceUrl)];
  if (owner.host !== service.host || owner.pathname === service.pathname) return;
  throw new Error('must name the database that DATABASE_URL names');
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Replaces the modes that the driver treats as `verify-full` with `verify-full`: the driver prints a long warning about
 * them at each start, and will one day give them libpq's weaker meaning. So they stay safe, without the warning.
 */
export const withStrictTls = (url: string | undefined): string | null =>
  url === undefined || /[?&]uselibpqcompat=/.test(url)
    ? (url ?? null)
    : url.replace(/(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, 'verify-full');

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null;
  } catch {
    return false;
  }
}

/** Checks an address to listen on, or a host name. */
export function assertHost(text: string): void {
  if (!isIP(text) && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)) throw new Error('must be an address or a name');
}

/** Checks the address of a server: `host:port`, IPv6 in brackets. */
export function assertHostAndPort(text: string): void {
  const [, port] = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (!port || Number(port) < 1 || Number(port) > 65_535) throw new Error('must be host:port');
}

/** Fastify's names for networks. */
const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];

/** Parses `true`, `false`, or a list of networks, each an address or CIDR. */
export function flagOrNetworks(text: string, names: readonly string[] = []): boolean | string[] {
  if (text === 'true' || text === 'false') return text === 'true';
  const networks = text.split(',').map((network) => network.trim());
  const unreadable = networks.find((network) => !names.includes(network) && !isNetwork(network));
  if (unreadable !== undefined) throw new Error('must be true, false, or networks such as 10.0.0.0/8');
  return networks.map((network) => (isAddress(network) ? onlyThis(network) : network));
}

const isAddress = (text: string) => ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text);
const isNetwork = (text: string) => ipaddr.isValidCIDR(text) || isAddress(text);
const onlyThis = (address: string) => `${address}/${address.includes(':') ? 128 : 32}`;

/** Returns the trusted proxies. Fastify does not accept a network of all addresses. */
export function proxiesOf(text: string): boolean | string[] {
  const proxies = flagOrNetworks(text, proxyNames);
  if (Array.isArray(proxies) && proxies.some((network) => network.endsWith('/0')))
    throw new Error('must be true where everybody is trusted, instead of a network of all addresses');
  return proxies;
}
