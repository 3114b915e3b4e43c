import { initialOf } from './initial.js';

/** The emblem of the hosted pages. */
export const gate =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M4 21V11a8 8 0 0 1 16 0v10M9 21V11.5a3 3 0 0 1 6 0V21M2 21h20" ' +
  'fill="none" stroke="#2f55d4" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>';

interface Brand {
  name: string | null;
  colors: { background: string; text: string } | null;
}

const own = { background: '#2f55d4', text: '#ffffff' };

/**
 * The icon of a page without a logo, as a `data:` URL: the tile that is shown above the page, or our emblem. Without
 * one, the browser would request `/favicon.ico`, which the page's policy forbids and Firefox complains about.
 */
export function iconOf({ name, colors }: Brand): string {
  const svg = name === null ? gate : tile(initialOf(name), colors ?? own);
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}

const tile = (letter: string, { background, text }: typeof own) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="${background}"/>` +
  `<text x="12" y="17" text-anchor="middle" font-family="system-ui,sans-serif" font-size="14" font-weight="600" fill="${text}">` +
  // Every character is escaped by its number, so that nothing in a name is markup.
  `${[...letter].map((character) => `&#${character.codePointAt(0)};`).join('')}</text></svg>`;
