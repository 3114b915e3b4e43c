/** How a mail greets: many end users have told no name, and are greeted as their mailbox is called. */
export const greetingOf = ({ firstName, email }: { firstName: string | null; email: string }): string =>
  firstName ?? email.slice(0, email.lastIndexOf('@'));
