import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import { formatDateTime } from '../../domain/emails/format-date-time.js';
import { isColor, palette } from '../../platform/colors.js';
import { type Locale, type TextKey, type TextValues, text } from '../../platform/mail/texts.js';
import { oneLine } from '../../platform/mail/values.js';
import { escapeMarkup } from '../../platform/markup.js';
import { iconOf } from './icon.js';
import { initialOf } from './initial.js';
import type { Pages } from './pages.js';
import { templates, templatesFolder } from './templates.js';
import { imageSource, linkTarget } from './urls.js';

/** How an Environment presents itself. */
export interface Branding {
  name: string;
  logo_url: string | null;
  /** `#rrggbb`; anything else is ignored. */
  primary_color: string | null;
  support_email: string | null;
}

export interface PageContext {
  locale: Locale;
  /** The nonce that the page's Content-Security-Policy names; new for each response. */
  nonce: string;
  branding?: Branding | null;
  scripts?: readonly PageScript[];
}

/** Our scripts, in `templates/pages/scripts`: they are inline, below the content of the page. */
export type PageScript = 'captcha' | 'codes' | 'form-post' | 'reveal' | 'sent-once' | 'webauthn';

const eta = new Eta({
  functionHeader: 'const { t, href, values } = it;',
  rmWhitespace: true,
  escapeFunction: shown,
});

// Compiled when the process starts: a broken template stops a release and not a sign-in.
for (const [name, template] of templates) eta.loadTemplate(`@${name}`, template);

const scriptTexts: Record<PageScript, string> = {
  captcha: readScript('captcha'),
  codes: readScript('codes'),
  'form-post': readScript('form-post'),
  reveal: readScript('reveal'),
  'sent-once': readScript('sent-once'),
  webauthn: readScript('webauthn'),
};

/** Reads a script as it is sent: without our indentation and comments. */
function readScript(name: PageScript): string {
  const lines = readFileSync(join(templatesFolder, `scripts/${name}.js`), 'utf8').split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .join('\n');
}

/** Renders a hosted page as HTML in one response: styles and scripts are inline, under the nonce. */
export function renderPage<P extends keyof Pages>(
  name: P,
  { locale, nonce, branding, scripts = [] }: PageContext,
  values: Pages[P],
): string {
  const color = branding?.primary_color;
  const brand = {
    name: oneLine(branding?.name ?? '') || null,
    logo: imageSource(branding?.logo_url),
    support: branding?.support_email || null,
    colors: color && isColor(color) ? palette(color) : null,
  };
  return eta.render(`@${name}`, {
    values,
    t: (key: TextKey, filled?: TextValues) => text(locale, key, filled && plainOf(filled)),
    plain: oneLine,
    initial: initialOf,
    href: linkTarget,
    within: (seconds: number) => within(locale, seconds),
    day: (date: Date) => days[locale].format(date),
    moment: (date: Date) => formatDateTime(date, locale),
    lasting: (count: number) => lasting[locale].format(count),
    ago: (date: Date, now: Date) => ago(locale, date, now),
    locale,
    nonce,
    scripts: scripts.map((script) => scriptTexts[script]),
    brand,
    icon: iconOf(brand),
    imageSource,
  });
}

/** "in 40 seconds", "in 3 Minuten": rounded up, so that nobody comes back too early. */
function within(locale: Locale, seconds: number): string {
  const format = relative[locale];
  if (seconds < 60) return format.format(Math.max(1, Math.ceil(seconds)), 'second');
  return seconds < 3600
    ? format.format(Math.ceil(seconds / 60), 'minute')
    : format.format(Math.ceil(seconds / 3600), 'hour');
}

/** "now", "3 hours ago", "vorgestern"; a date if it is more than a month ago. */
function ago(locale: Locale, date: Date, now: Date): string {
  const minutes = Math.max(0, Math.round((now.getTime() - date.getTime()) / 60_000));
  const format = past[locale];
  if (minutes < 60) return minutes === 0 ? format.format(0, 'second') : format.format(-minutes, 'minute');
  if (minutes < 24 * 60) return format.format(-Math.round(minutes / 60), 'hour');
  const count = Math.round(minutes / (24 * 60));
  return count <= 30 ? format.format(-count, 'day') : days[locale].format(date);
}

const past: Record<Locale, Intl.RelativeTimeFormat> = {
  en: new Intl.RelativeTimeFormat('en', { numeric: 'auto' }),
  de: new Intl.RelativeTimeFormat('de', { numeric: 'auto' }),
};
// The reader's time zone is unknown; for a date, ours is near enough.
const days: Record<Locale, Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }),
  de: new Intl.DateTimeFormat('de', { dateStyle: 'long', timeZone: 'UTC' }),
};

const inDays = { style: 'unit', unit: 'day', unitDisplay: 'long' } as const;
const lasting: Record<Locale, Intl.NumberFormat> = {
  en: new Intl.NumberFormat('en', inDays),
  de: new Intl.NumberFormat('de', inDays),
};

const relative: Record<Locale, Intl.RelativeTimeFormat> = {
  en: new Intl.RelativeTimeFormat('en'),
  de: new Intl.RelativeTimeFormat('de'),
};

/** Text by people as a page may show it: a mark that turns the reading direction would also turn our words after it. */
const plainOf = (values: TextValues): TextValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, oneLine(String(value))]));

function shown(value: unknown): string {
  // A page that says "undefined" to a customer is a bug that a test should meet first.
  if (value === undefined || value === null) throw new Error('A page was given no value where it shows one');
  return escapeMarkup(String(value));
}
