/** The receiving server refuses this mail for good (RFC 5321 §4.2.1, a reply of 5yz): sending it again cannot help. */
export class MailRejected extends Error {
  constructor(
    message: string,
    /** The server's answer, or `null` when the address was refused before asking one. */
    readonly response: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'MailRejected';
  }
}

/** Replies that are about our own connection (sign-in or encryption required): for us to mend, then worth another try. */
const OURS = new Set([530, 534, 535, 538]);

/** Tells a lasting refusal of the recipient or of the message from every other failure, for which it answers `null`. */
export function rejection(error: unknown): MailRejected | null {
  const {
    command,
    responseCode = 0,
    response = null,
  } = error as { command?: string; responseCode?: number; response?: string };
  const aboutTheMail = command === 'RCPT TO' || command === 'DATA';
  if (!aboutTheMail || responseCode < 500 || OURS.has(responseCode)) return null;
  return new MailRejected('The mail was refused', response, { cause: error });
}
