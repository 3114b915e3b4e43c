/** An address in the form that nodemailer takes as it is, without parsing a list out of it. */
export interface Mailbox {
  name: string;
  address: string;
}

/**
 * One plain address. Quoted local parts are lawful and refused: parsers disagree about `"a@evil.example b"@example.com`,
 * and a line break would add headers or recipients.
 */
const plain = /^[^\s\p{C}"(),:;<>@[\]\\]{1,64}@(?!-)[^\s\p{C}"(),:;<>@[\]\\/]{1,253}$/u;

/** Whether mail can be sent to it. */
export const isMailable = (address: string): boolean => plain.test(address);

/**
 * Whether an address is in the bounds of RFC 5321 §4.5.3.1 and its domain is a name: at most 64 octets before the `@`, at most 63
 * characters a label (RFC 1035 §2.3.4), and no number for the last one, which would make it an IP address without its brackets
 * (RFC 3696 §2). Asked where an address is new: whoever has another one from before keeps it.
 */
export function isBounded(address: string): boolean {
  const at = address.lastIndexOf('@');
  const labels = address.slice(at + 1).split('.');
  const isNumber = /^\d+$/.test(labels.at(-1) as string);
  return Buffer.byteLength(address.slice(0, at)) <= 64 && labels.every(({ length }) => length <= 63) && !isNumber;
}

export function mailbox(address: string, name = ''): Mailbox {
  if (!isMailable(address)) throw new Error('Not an email address');
  if (/\p{Cc}/u.test(name)) throw new Error('A name in an address holds no control characters');
  return { name, address };
}

/** Reads `Name <address>`, or an address alone. */
export function parseMailbox(text: string): Mailbox {
  const [, name, address] = /^\s*(?:"?([^"<>]*?)"?\s*<)([^<>]+)>\s*$/u.exec(text) ?? [];
  return address ? mailbox(address, name) : mailbox(text.trim());
}

/** @throws Error whose text follows the name of a setting */
export function assertMailbox(text: string): void {
  try {
    parseMailbox(text);
  } catch {
    throw new Error('must be an address, or Name <address>');
  }
}

export const domainOf = ({ address }: Mailbox) => address.slice(address.lastIndexOf('@') + 1);
