import { offLine } from '../visible.js';
import { mailbox } from './addresses.js';
import type { Locale } from './texts.js';

/** The values that are counts, and their units: formatted with a unit, they need no plural forms in the text. */
const units: Readonly<Record<string, string>> = { hours_left: 'hour', minutes_left: 'minute' };

/** Characters that a text on one line must not have, and the invisible direction marks. */
const unprintable = new RegExp(`[${offLine}\\u200e\\u200f]+`, 'gu');

const maxCharacters = 200;

/** Returns a value as a mail shows it. People choose names that strangers receive, so only plain text is kept. */
export function shown(locale: Locale, name: string, value: string | number): string {
  if (typeof value === 'number') return count(locale, name, value);
  // An administrator has set this address, and people are meant to write to it.
  if (name === 'support_email') return mailbox(value).address;
  if (name.startsWith('record_')) return dnsText(value);
  return /(^|_)link$/.test(name)
    ? webAddress(value)
    : withoutLinks([...oneLine(value)].slice(0, maxCharacters).join(''));
}

/** Returns the text on one line: a mail's header may hold no more. */
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

/** Checks a part of a DNS record: people copy it from the mail into a zone, so it must hold nothing invisible. */
function dnsText(value: string): string {
  if (!/^[\w.=-]+$/.test(value)) throw new Error('A mail names records in DNS by plain ASCII only');
  return value;
}

/**
 * Mail programs make a link of whatever looks like one, so a registration under the name "win.example.com" would send
 * an advertisement from our address. An invisible word joiner prevents that and does not change how the text looks.
 */
const withoutLinks = (value: string) =>
  value
    .replace(/:\/\//g, ':\u2060//')
    .replace(/(?<=[\p{L}\p{N}_-])\.(?=\p{L}{2})/gu, '.\u2060')
    .replace(/@/g, '\u2060@');
