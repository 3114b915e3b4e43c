/** An address in the form that nodemailer uses unchanged, without parsing it as a list. */
export interface Mailbox {
  name: string;
  address: string;
}

/**
 * One plain address. Quoted local parts are valid but refused: parsers disagree about `"a@evil.example b"@example.com`,
 * and a line break would add headers or recipients.
 */
const plain = /^[^\s\p{C}"(),:;<>@[\]\\]{1,64}@(?!-)[^\s\p{C}"(),:;<>@[\]\\/]{1,253}$/u;

/** Whether mail can be sent to an address. */
export const isMailable = (address: string): boolean => plain.test(address);

/**
 * Whether an address is within the limits of RFC 5321 §4.5.3.1 and its domain is a name: at most 64 octets before the
 * `@`, at most 63 characters per label (RFC 1035 §2.3.4), and no number as the last label, which would be an IP address
 * without brackets (RFC 3696 §2). Only new addresses are checked: people keep an older one that is out of bounds.
 */
export function isBounded(address: string): boolean {
  const at = address.lastIndexOf('@');
  const labels = address.slice(at + 1).split('.');
  const isNumber = /^\d+$/.test(labels.at(-1) as string);
  return Buffer.byteLength(address.slice(0, at)) <= 64 && labels.every(({ length }) => length <= 63) && !isNumber;
}

/** Returns the mailbox of an address and a name. @throws Error if no mail can have them */
export function mailbox(address: string, name = ''): Mailbox {
  if (!isMailable(address)) throw new Error('Not an email address');
  if (/\p{Cc}/u.test(name)) throw new Error('A name in an address holds no control characters');
  return { name, address };
}

/** Parses `Name <address>`, or an address alone. */
export function parseMailbox(text: string): Mailbox {
  const [, name, address] = /^\s*(?:"?([^"<>]*?)"?\s*<)([^<>]+)>\s*$/u.exec(text) ?? [];
  return address ? mailbox(address, name) : mailbox(text.trim());
}

/** @throws Error whose text is meant to follow a setting's name */
export function assertMailbox(text: string): void {
  try {
    parseMailbox(text);
  } catch {
    throw new Error('must be an address, or Name <address>');
  }
}

export const domainOf = ({ address }: Mailbox) => address.slice(address.lastIndexOf('@') + 1);
