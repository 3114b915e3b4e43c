import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type en from '../../../templates/locales/en.json';
import { projectRoot } from '../root.js';

/** The languages of hosted pages and mails, as BCP 47 tags. */
export const locales = ['en', 'de'] as const;
export type Locale = (typeof locales)[number];

/** A key of the catalogues `templates/locales/*.json`, checked by the compiler. */
export type TextKey = keyof typeof en;
export type TextValues = Readonly<Record<string, string | number>>;

/** A text split at its `{placeholders}`: pieces at even positions, names at odd ones. */
type Pieces = readonly string[];

const placeholder = /\{([a-zA-Z_]+)\}/;

const catalogues = Object.fromEntries(
  locales.map((locale) => {
    const file = readFileSync(join(projectRoot, 'templates/locales', `${locale}.json`), 'utf8');
    const texts = Object.entries(JSON.parse(file) as Record<string, string>);
    return [locale, new Map<string, Pieces>(texts.map(([key, text]) => [key, text.split(placeholder)]))];
  }),
) as Record<Locale, Map<string, Pieces>>;

/**
 * Returns a text in a language with its placeholders filled in. Nothing is escaped: that is the template's task.
 * An unknown key or a missing value throws, since half a sentence on a sign-in page is worse than an error in a test.
 */
export function text(locale: Locale, key: TextKey, values: TextValues = {}): string {
  return textWith(locale, key, (name) => {
    const value = values[name];
    if (value === undefined || value === null) throw new Error(`No value for {${name}} in the text ${key}`);
    return String(value);
  });
}

/** Returns a text in a language, each placeholder replaced by `value` of its name. */
export function textWith(locale: Locale, key: TextKey, value: (name: string) => string): string {
  const pieces = catalogues[locale].get(key);
  if (!pieces) throw new Error(`No text ${key} in ${locale}`);
  return pieces.map((piece, i) => (i % 2 ? value(piece) : piece)).join('');
}

/** Returns every key of one language's catalogue. */
export const textKeys = (locale: Locale): TextKey[] => [...catalogues[locale].keys()] as TextKey[];
