/** Returns the token of the link in a raw mail, whose text is quoted-printable. */
export function linkTokenIn(raw: string): string {
  const text = raw.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
  const [, token] = /[?&]token=([\w-]+)/.exec(text) ?? [];
  if (token === undefined) throw new Error('The mail has no link with a token');
  return token;
}
