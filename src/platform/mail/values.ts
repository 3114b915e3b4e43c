import { offLine } from '../visible.js';
import { mailbox } from './addresses.js';
import type { Locale } from './texts.js';

/** Values that are counts, and what they count: the text around them then needs no plural forms. */
const units: Readonly<Record<string, string>> = { hours_left: 'hour', minutes_left: 'minute' };

/** What a text of one line is without, and the marks of direction that only show nothing. */
const unprintable = new RegExp(`[${offLine}\\u200e\\u200f]+`, 'gu');

const MOST_CHARACTERS = 200;

/** One value as a mail shows it. People choose their names, strangers receive them: what is not plain text is taken out. */
export function shown(locale: Locale, name: string, value: string | number): string {
  if (typeof value === 'number') return count(locale, name, value);
  // What an administrator has set for people to write to.
  if (name === 'support_email') return mailbox(value).address;
  if (name.startsWith('record_')) return dnsText(value);
  return /(^|_)link$/.test(name)
    ? webAddress(value)
    : withoutLinks([...oneLine(value)].slice(0, MOST_CHARACTERS).join(''));
}

/** Text on one line, which is all that a mail's header may hold. */
export const oneLine = (value: string) => value.replace(unprintable, ' ').replace(/ {2,}/g, ' ').trim();

function count(locale: Locale, name: string, value: number): string {
  const unit = units[name];
  return new Intl.NumberFormat(locale, unit ? { style: 'unit', unit, unitDisplay: 'long' } : {}).format(value);
}

function webAddress(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('A mail links to web addresses only');
  return url.href;
}

/** Of a DNS record: copied from the mail into a zone, so that nothing invisible may stand in it. */
function dnsText(value: string): string {
  if (!/^[\w.=-]+$/.test(value)) throw new Error('A mail names records in DNS by plain ASCII only');
  return value;
}

/**
 * Mail programs make links of whatever looks like one, so a registration under the name "win.example.com" would send an
 * advertisement from our address. A word joiner (invisible) keeps the text as it is and stops that.
 */
const withoutLinks = (value: string) =>
  value
    .replace(/:\/\//g, ':\u2060//')
    .replace(/(?<=[\p{L}\p{N}_-])\.(?=\p{L}{2})/gu, '.\u2060')
    .replace(/@/g, '\u2060@');
