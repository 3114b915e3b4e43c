import type { FastifyRequest } from 'fastify';
import { askingWho } from './asking-who.js';
import type { HostedOptions } from './options.js';

interface Way {
  /** Whoever else is signed in in this browser; null for nobody. */
  other: string | null;
  nextUrl: string | null;
}

/**
 * Where somebody goes on who has used a mailed link in a browser in which somebody else is signed in: whatever follows would go on as
 * that one, and nobody would notice. So the page says whose session it is, and our own next page asks.
 */
export async function pastSomeoneElse(
  { provider, hosted }: Pick<HostedOptions, 'provider' | 'hosted'>,
  request: FastifyRequest,
  { environmentId, email }: { environmentId: string; email: string },
  nextUrl: string | null,
): Promise<Way> {
  const session = await provider.sessions.find(hosted.cookies.browser.read(request), environmentId, null);
  if (!session || session.email.toLowerCase() === email.toLowerCase()) return { other: null, nextUrl };
  return { other: session.email, nextUrl: nextUrl && asking(nextUrl) };
}

/** An application's own site cannot be told to ask. */
function asking(url: string): string {
  const [path, query] = url.split('?');
  if (path !== '/oauth/authorize') return url;
  return `${path}?${new URLSearchParams(askingWho(Object.fromEntries(new URLSearchParams(query))))}`;
}
