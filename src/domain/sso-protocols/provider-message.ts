/** In characters: a sentence, and what it is looked up by. */
const longest = 300;

/**
 * What a provider says in its own words of why it refuses (RFC 6749's `error_description`, SAML's `StatusMessage`), to be added to ours as
 * one line of text: most often it names the very field to change. Whoever tries a connection out reads it, and nobody else: what comes by
 * way of a browser is that browser's word.
 * @returns empty where it says nothing
 */
export function providerMessage(said: string | null | undefined): string {
  const line = [...(said ?? '').replace(/[\p{C}\s]+/gu, ' ').trim()]; // no half characters, whichever is the last
  if (line.length === 0) return '';
  return `: ${line.slice(0, longest).join('')}${line.length > longest ? '…' : ''}`;
}
