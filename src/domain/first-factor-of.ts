/**
 * Returns the first factor of a session's sign-in from its `amr` (RFC 8176), if no identity provider vouches for it.
 * The values of a second factor, from the sign-in or later, come after those of the first one.
 */
export function firstFactorOf(amr: readonly string[]): 'password' | 'email_otp' | 'passkey' | 'other' {
  if (amr.includes('pwd')) return 'password';
  // An emailed code, or an administrator's link.
  if (amr[0] === 'otp') return 'email_otp';
  return amr.includes('hwk') || amr.includes('swk') ? 'passkey' : 'other';
}
