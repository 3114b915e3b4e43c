/**
 * By which first factor a session began that no identity provider vouches for, from its `amr` (RFC 8176): a second one, shown at the
 * sign-in or added later, stands behind what the first one said.
 */
export function firstFactorOf(amr: readonly string[]): 'password' | 'email_otp' | 'passkey' | 'other' {
  if (amr.includes('pwd')) return 'password';
  // An emailed code, or an administrator's link.
  if (amr[0] === 'otp') return 'email_otp';
  return amr.includes('hwk') || amr.includes('swk') ? 'passkey' : 'other';
}
