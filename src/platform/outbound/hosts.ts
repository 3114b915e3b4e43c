/** `names`: host names and literal addresses as in URLs; `below`: what follows the star in `*.example.com`. */
export interface HostList {
  names: ReadonlySet<string>;
  below: readonly string[];
}

/**
 * Parses an operator's list of hosts: `api.example.com`, `*.example.com` (every name below it, not itself),
 * `203.0.113.7`, `[2001:db8::7]`.
 * @throws Error if one of them is not a host
 */
export function parseHosts(text: string): HostList {
  const names = new Set<string>();
  const below: string[] = [];
  for (const item of text.split(',').map((part) => part.trim())) {
    const isBelow = item.startsWith('*.');
    const host = hostOf(isBelow ? item.slice(2) : item);
    // An address has no names below it.
    if (host === null || (isBelow && /^[\d.]+$|^\[/.test(host))) {
      throw new Error('must be hosts such as hooks.example.com or *.example.com, separated by commas');
    }
    if (isBelow) below.push(`.${host}`);
    else names.add(host);
  }
  return { names, below };
}

/** Whether the host of a URL is listed. @param hostname in the form of `URL`: in lower case, names in ASCII */
export function isListed(hostname: string, { names, below }: HostList): boolean {
  const name = withoutLastDot(hostname);
  return names.has(name) || below.some((end) => name.endsWith(end));
}

/**
 * Returns a host as `URL` writes it (a name in ASCII, an address in its usual notation); null if it is anything else.
 */
function hostOf(text: string): string | null {
  if (!/^[^\s/?#@*\\]+$/.test(text) || !URL.canParse(`https://${text}/`)) return null;
  const { host, hostname } = new URL(`https://${text}/`);
  return host === hostname && !/:443$/.test(text) ? withoutLastDot(hostname) : null;
}

const withoutLastDot = (name: string): string => name.replace(/\.$/, '');
