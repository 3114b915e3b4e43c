/** Returns how a mail addresses a person: the first name, or, as many end users have none, the mailbox's local part. */
export const greetingOf = ({ firstName, email }: { firstName: string | null; email: string }): string =>
  firstName ?? email.slice(0, email.lastIndexOf('@'));

/**
 * Returns how a mail to an address that may be unconfirmed addresses its owner. A name stored before the confirmation
 * is not used: anybody may have chosen it, and it could say anything to a stranger.
 */
export const greetingOfOwner = ({
  isVerified,
  ...person
}: Parameters<typeof greetingOf>[0] & { isVerified: boolean }) =>
  greetingOf(isVerified ? person : { ...person, firstName: null });
