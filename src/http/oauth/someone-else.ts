import type { FastifyRequest } from 'fastify';
import { withAccountSelection } from './account-selection.js';
import type { HostedOptions } from './options.js';

interface Continuation {
  /** The email address of somebody else who is signed in in this browser; null for nobody. */
  other: string | null;
  nextUrl: string | null;
}

/**
 * Where somebody continues after using a mailed link in a browser in which somebody else is signed in: the next steps
 * would act as that other person, and nobody would notice. So the page says whose session it is, and our own next page
 * asks.
 */
export async function pastSomeoneElse(
  { provider, hosted }: Pick<HostedOptions, 'provider' | 'hosted'>,
  request: FastifyRequest,
  { environmentId, email }: { environmentId: string; email: string },
  nextUrl: string | null,
): Promise<Continuation> {
  const session = await provider.sessions.find(hosted.cookies.browser.read(request), environmentId, null);
  if (!session || session.email.toLowerCase() === email.toLowerCase()) return { other: null, nextUrl };
  return { other: session.email, nextUrl: nextUrl && asking(nextUrl) };
}

/** Makes our own page ask; an application's site cannot be made to. */
function asking(url: string): string {
  const [path, query] = url.split('?');
  if (path !== '/oauth/authorize') return url;
  return `${path}?${new URLSearchParams(withAccountSelection(Object.fromEntries(new URLSearchParams(query))))}`;
}
