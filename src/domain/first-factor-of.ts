/**
 * The first factor by which a session began, unless an identity provider vouches for it, from its `amr` (RFC 8176). A
 * second factor, shown at the sign-in or added later, comes behind the first one's values.
 */
export function firstFactorOf(amr: readonly string[]): 'password' | 'email_otp' | 'passkey' | 'other' {
  if (amr.includes('pwd')) return 'password';
  // An emailed code, or an administrator's link.
  if (amr[0] === 'otp') return 'email_otp';
  return amr.includes('hwk') || amr.includes('swk') ? 'passkey' : 'other';
}
