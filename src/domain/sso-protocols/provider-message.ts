/** In characters: enough for a sentence and the ids with which to look it up. */
const maxLength = 300;

/**
 * Returns a provider's own reason for an error (RFC 6749's `error_description`, SAML's `StatusMessage`) as one line to
 * add to our message: most often it names the field to change. Only people who test a connection see it: anybody can
 * put what comes through a browser there.
 * @returns empty if the provider says nothing
 */
export function providerMessage(said: string | null | undefined): string {
  const line = [...(said ?? '').replace(/[\p{C}\s]+/gu, ' ').trim()]; // no half characters, whichever is the last
  if (line.length === 0) return '';
  return `: ${line.slice(0, maxLength).join('')}${line.length > maxLength ? '…' : ''}`;
}
