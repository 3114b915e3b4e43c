import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import type Axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { patience } from './patience.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const places = ['/usr/bin', '/usr/local/bin', '/snap/bin', ...(process.env.PATH ?? '').split(delimiter)];

/** Returns the path of the browser: `CHROMIUM_PATH` or an installed one. @throws Error that says how to get one */
function findChromium(): string {
  const { CHROMIUM_PATH: configured } = process.env;
  if (configured && !existsSync(configured)) throw new Error(`CHROMIUM_PATH=${configured}: there is no such file`);
  const installed = names.flatMap((name) => places.filter(Boolean).map((place) => join(place, name)));
  const mac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
  const path = [configured, ...installed, mac, chromium.executablePath()].find((file) => file && existsSync(file));
  if (path) return path;
  throw new Error(
    'The browser tests need Chromium. Install it ("apt-get install chromium" on Debian, "dnf install chromium" on ' +
      'Fedora, "brew install --cask google-chrome" on macOS, or "npx playwright-core install chromium"), or set ' +
      'CHROMIUM_PATH to one.',
  );
}

export function launchChromium(): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--no-first-run', '--disable-component-update', '--disable-sync'];
  return chromium.launch({
    executablePath: findChromium(),
    args: process.getuid?.() === 0 ? ['--no-sandbox', ...quiet] : quiet,
  });
}

export interface Visitor {
  page: Page;
  /** What Chromium has complained of: violations of a page's security policy, script errors. */
  complaints: string[];
  close(): Promise<void>;
}

/** Opens a new browser profile for a visitor. */
export async function newVisitor(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  context.on('console', (message) => {
    // Chromium logs an answer such as 400 as an error although the page shows what it should.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  return { page, complaints, close: () => context.close() };
}

/** Waits for a page's heading and for the rest of the page, so that a test can count what is on it. */
export const headingOf = (page: Page, name: string | RegExp) => ({
  async waitFor(): Promise<void> {
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.waitForLoadState();
  },
});

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns what axe-core finds inaccessible on a page: rule and element, one per line. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(axeFile, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof Axe }; // defined by the script above, in the page
    const { violations } = await axe.run({ preload: false });
    return violations.flatMap(({ id, impact, help, nodes }) =>
      nodes.map(({ html }) => `${impact}: ${id}: ${help}: ${html}`),
    );
  });
}

/** Returns the links, buttons and fields of a page that are smaller than WCAG 2.2 §2.5.8 asks; a checkbox has its label. */
export const smallTargets = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('a, button, input:not([type=hidden], [type=checkbox]), label:has([type=checkbox])')]
      .filter((one) => one.checkVisibility())
      .filter((one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) < 24)
      .map(({ outerHTML }) => outerHTML),
  );
