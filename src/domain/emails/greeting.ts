/** How a mail greets: many end users have told no name, and are greeted as their mailbox is called. */
export const greetingOf = ({ firstName, email }: { firstName: string | null; email: string }): string =>
  firstName ?? email.slice(0, email.lastIndexOf('@'));

/**
 * The same where the address may not be confirmed yet. What was written down of its owner before that, by whomever, is greeted in
 * no mail: it could say anything to a stranger.
 */
export const greetingOfOwner = ({
  isVerified,
  ...person
}: Parameters<typeof greetingOf>[0] & { isVerified: boolean }) =>
  greetingOf(isVerified ? person : { ...person, firstName: null });
