import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import { type Locale, type TextKey, type TextValues, text } from '../../platform/mail/texts.js';
import { projectRoot } from '../../platform/root.js';
import { isColor, palette } from './colors.js';
import type { Pages } from './pages.js';
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
}

const folder = join(projectRoot, 'templates/pages');

const eta = new Eta({
  functionHeader: 'const { t, href, values } = it;',
  rmWhitespace: true,
  escapeFunction: escapeHtml,
});

// Compiled when the process starts: a broken template stops a release and not a sign-in.
for (const file of readdirSync(folder)) {
  if (file.endsWith('.eta')) eta.loadTemplate(`@${file.slice(0, -4)}`, readFileSync(join(folder, file), 'utf8'));
}

/** A hosted page as HTML, without scripts and in one response: styles are inline, under the nonce. */
export function renderPage<P extends keyof Pages>(
  name: P,
  { locale, nonce, branding }: PageContext,
  values: Pages[P],
): string {
  const color = branding?.primary_color;
  return eta.render(`@${name}`, {
    values,
    t: (key: TextKey, filled?: TextValues) => text(locale, key, filled),
    href: linkTarget,
    within: (seconds: number) => within(locale, seconds),
    locale,
    nonce,
    brand: {
      name: branding?.name || null,
      logo: imageSource(branding?.logo_url),
      support: branding?.support_email || null,
      colors: color && isColor(color) ? palette(color) : null,
    },
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

const relative: Record<Locale, Intl.RelativeTimeFormat> = {
  en: new Intl.RelativeTimeFormat('en'),
  de: new Intl.RelativeTimeFormat('de'),
};

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(value: unknown): string {
  // A page that says "undefined" to a customer is a bug that a test should meet first.
  if (value === undefined || value === null) throw new Error('A page was given no value where it shows one');
  const shown = String(value);
  return /[&<>"']/.test(shown) ? shown.replace(/[&<>"']/g, (char) => entities[char] as string) : shown;
}
