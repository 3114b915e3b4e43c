import type { FastifyRequest } from 'fastify';
import { type Locale, locales } from '../../platform/mail/texts.js';

interface Wishes {
  /** `ui_locales` of OpenID Connect Core 3.1.2.1: tags in order of preference, separated by spaces. */
  uiLocales?: string | null;
  acceptLanguage?: string | null;
  /** The Environment's `default_locale`. */
  default?: string | null;
}

const available = new Map<string, Locale>(locales.map((locale) => [locale.toLowerCase(), locale]));

/** Longer lists are abuse, not a preference. */
const maxRanges = 20;

/**
 * The page's language: the first of the client's, the browser's and the Environment's that is available, or English.
 */
export function chooseLocale({ uiLocales, acceptLanguage, default: fallback }: Wishes): Locale {
  const ranges = [
    ...(uiLocales ?? '').slice(0, 500).trim().split(/\s+/),
    ...byQuality(acceptLanguage ?? ''),
    fallback ?? '',
  ];
  for (const range of ranges) {
    const found = lookup(range.toLowerCase());
    if (found) return found;
  }
  return 'en';
}

/** The language that a browser asks for, or else the given one; for requests without `ui_locales`. */
export const browserLocaleOf = ({ headers }: Pick<FastifyRequest, 'headers'>, fallback: string | null = null): Locale =>
  chooseLocale({ acceptLanguage: headers['accept-language'], default: fallback });

/** RFC 4647 §3.4: drops subtags from the end until a language matches; a single-letter one goes with its successor. */
function lookup(range: string): Locale | undefined {
  const subtags = range.split('-');
  while (subtags.length > 0) {
    const found = available.get(subtags.join('-'));
    if (found) return found;
    subtags.pop();
    if (subtags.at(-1)?.length === 1) subtags.pop();
  }
  return undefined;
}

/** RFC 9110 §12.5.4: highest quality first, ties in the order given, `q=0` and the wildcard left out. */
function byQuality(header: string): string[] {
  return header
    .slice(0, 1000)
    .split(',', maxRanges)
    .map((item) => {
      const [range = '', ...parameters] = item.split(';').map((part) => part.trim());
      const q = parameters.find((parameter) => /^q=/i.test(parameter));
      return { range, quality: q ? Number(q.slice(2)) : 1 };
    })
    .filter(({ range, quality }) => range !== '*' && quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ range }) => range);
}
