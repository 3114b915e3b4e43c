// Takes the pictures in docs/images from the real service: `npm run build && node scripts/screenshots.js`.
// Needs Chromium (CHROMIUM_PATH, or an installed one).
import 'reflect-metadata';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../dist/src/platform/root.js';
import { launchChromium, newVisitor } from '../dist/test/support/chromium.js';
import { seed } from '../dist/test/support/seed.js';
import { startService } from '../dist/test/support/service.js';
import { startRelyingParty } from '../dist/test/support/service-processes.js';

const images = join(projectRoot, 'docs/images');
const stops = [];
try {
  await mkdir(images, { recursive: true });
  const service = await startService();
  stops.push(service.stop);
  const { otherPublicClient, ana } = await seed(service.databaseUrl);
  const example = await startRelyingParty({ ISSUER: service.baseUrl, CLIENT_ID: otherPublicClient });
  stops.push(example.stop);
  const browser = await launchChromium();
  stops.push(() => browser.close());

  // 1280 × 800 pixels, which are sharp when shown at half that size.
  const view = { viewport: { width: 800, height: 500 }, deviceScaleFactor: 1.6 };
  const { page } = await newVisitor(browser, view);
  await page.goto(`${example.url}/login`);
  await page.getByLabel('Email').fill(ana.email);
  await page.getByLabel('Password', { exact: true }).fill('a password');
  await take(page, 'sign-in.png');
} finally {
  for (const stop of stops.reverse()) await stop();
}

async function take(page, name) {
  const path = join(images, name);
  await page.screenshot({ path, caret: 'hide' });
  const { size } = await stat(path);
  process.stdout.write(`${path}: ${Math.round(size / 1024)} kB\n`);
}
