// `npm run docs:events`: writes docs/events.md from the catalogue of events.
import { writeFile } from 'node:fs/promises';
import { eventsPage } from '../dist/src/dev/events-page.js';

await writeFile(new URL('../docs/events.md', import.meta.url), eventsPage());
