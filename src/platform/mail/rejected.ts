/** The receiving server refuses this mail permanently (RFC 5321 §4.2.1, a 5yz reply): sending it again cannot help. */
export class MailRejected extends Error {
  constructor(
    message: string,
    /** The server's reply; null if the address was refused before asking a server. */
    readonly response: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'MailRejected';
  }
}

/** Replies about our own connection (authentication or encryption required): once we fix that, a retry can succeed. */
const aboutOurConnection = new Set([530, 534, 535, 538]);

/** Returns a `MailRejected` if the recipient or the message was refused permanently; null for every other failure. */
export function rejection(error: unknown): MailRejected | null {
  const {
    command,
    responseCode = 0,
    response = null,
  } = error as { command?: string; responseCode?: number; response?: string };
  const aboutTheMail = command === 'RCPT TO' || command === 'DATA';
  if (!aboutTheMail || responseCode < 500 || aboutOurConnection.has(responseCode)) return null;
  return new MailRejected('The mail was refused', response, { cause: error });
}
