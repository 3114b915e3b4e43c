import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';

// How the values of settings are read; each throws an Error that says what is wrong.

export function originOf(text: string): string {
  const url = withoutUser(urlOf(text, ['http', 'https']));
  if (url.pathname !== '/' || url.search || url.hash) throw new Error('must be an origin, without path or query');
  return url.origin;
}

/** Passwords and tokens go there in the clear unless it is https; what is on this machine may do without. */
export function assertSafeOrigin(origin: string): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return;
  throw new Error('must start with https:// in production');
}

/** What is in a file of certificates or a key; nothing for no file. */
export function pemOf(path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined;
  const text = readOrNull(path);
  if (!text?.includes('-----BEGIN ')) throw new Error('must be the path of a file in PEM');
  return text;
}

/** A certificate and its private key. One without the other is somebody else's to notice. */
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
    return null; // not there, not a file, or not for us
  }
}

/** Of the settings that are URLs of servers. */
export const schemesOf = {
  DATABASE_URL: ['postgres', 'postgresql'],
  DATABASE_OWNER_URL: ['postgres', 'postgresql'],
  SMTP_URL: ['smtp', 'smtps'],
};

export function urlOf(text: string, schemes: string[]): URL {
  if (!URL.canParse(text)) throw new Error('must be a URL');
  const url = new URL(text);
  if (!schemes.includes(url.protocol.slice(0, -1))) {
    throw new Error(`must start with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`);
  }
  return url;
}

/** Whoever wrote a name and a password into it meant them to be used: `fetch` refuses such a URL, and an origin drops them. */
export function withoutUser(url: URL): URL {
  if (url.username || url.password) throw new Error('must be without user and password');
  return url;
}

/** Of a service that is called over HTTP. @param or what may stand in its place */
export function callableUrlOf(text: string, or?: string): string {
  if (or && !/:\/\//.test(text)) throw new Error(`must be a URL or ${or}`);
  return withoutUser(urlOf(text, ['http', 'https'])).href;
}

/** As libpq takes them: `//user@one,two:5433/`. */
const severalHosts = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,(?![^/?#]*@)/;

/** Of PostgreSQL or a mail server: everything in it that its driver would stumble over with a fault. */
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
 * Where the owner's URL and the service's lead to one server, they are of one database: the schema of another would be changed.
 * A pool in between may call it otherwise.
 */
export function assertSameDatabase(ownerUrl: string | undefined, serviceUrl: string | undefined): void {
  if (!ownerUrl || !serviceUrl || !URL.canParse(ownerUrl) || !URL.canParse(serviceUrl)) return;
  const [owner, service] = [new URL(ownerUrl), new URL(serviceUrl)];
  if (owner.host !== service.host || owner.pathname === service.pathname) return;
  throw new Error('must name the database that DATABASE_URL names');
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * The driver takes these modes for `verify-full`, says so in several lines at each start, and will take them for the weaker ones of
 * libpq one day. What was safe stays so, without a word.
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

/** An address to listen on, or the name of one. */
export function assertHost(text: string): void {
  if (!isIP(text) && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)) throw new Error('must be an address or a name');
}

export function hostAndPort(text: string): void {
  const [, port] = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (!port || Number(port) < 1 || Number(port) > 65_535) throw new Error('must be host:port');
}

/** What Fastify calls these networks. */
const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];

/** `true`, `false`, or a list of networks: an address, or CIDR. */
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

/** The proxies that are trusted. Fastify reads no network of everybody. */
export function proxiesOf(text: string): boolean | string[] {
  const proxies = flagOrNetworks(text, proxyNames);
  if (Array.isArray(proxies) && proxies.some((network) => network.endsWith('/0')))
    throw new Error('must be true where everybody is trusted, instead of a network of all addresses');
  return proxies;
}
