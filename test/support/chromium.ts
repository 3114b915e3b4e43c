import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import type Axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { patience } from './patience.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const places = ['/usr/bin', '/usr/local/bin', '/snap/bin', ...(process.env.PATH ?? '').split(delimiter)];

/** The browser that the tests drive: `CHROMIUM_PATH`, or one that is installed. @throws Error that says how to get one */
export function findChromium(): string {
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
  /** What Chromium complained of so far: violations of a page's security policy, errors of scripts. */
  complaints: string[];
  close(): Promise<void>;
}

/** Somebody with a browser profile of their own. */
export async function newVisitor(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  context.on('console', (message) => {
    // An answer such as 400 is logged as an error too, although the page shows exactly what it should.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  return { page, complaints, close: () => context.close() };
}

/** A page's heading: there once it is shown and all of the page has come, so that what else is on it can be counted. */
export const headingOf = (page: Page, name: string | RegExp) => ({
  async waitFor(): Promise<void> {
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.waitForLoadState();
  },
});

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds wrong with a page for people who use it in another way than most: rule and element, one a line. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(axeFile, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof Axe }; // the script in the page put it there
    const { violations } = await axe.run({ preload: false });
    return violations.flatMap(({ id, impact, help, nodes }) =>
      nodes.map(({ html }) => `${impact}: ${id}: ${help}: ${html}`),
    );
  });
}
