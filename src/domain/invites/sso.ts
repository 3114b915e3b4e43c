/** Whom a sign-in through an identity provider would let in. */
export interface SsoQuestion {
  accountId: string;
  email: string;
}

/**
 * Whether the Account has an active admin SSO connection that covers the domain of an address. No Account can have one:
 * this release has no connections. Everything that an invite makes of the answer asks here, and here only.
 */
export async function hasAdminSso(_question: SsoQuestion): Promise<boolean> {
  return false;
}
