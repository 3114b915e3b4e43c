import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventsPage } from '../../src/dev/events-page.js';
import { eventCatalogue, isDomainEvent } from '../../src/domain/events/catalogue.js';
import { eventFields } from '../../src/domain/events/fields.js';
import { projectRoot } from '../../src/platform/root.js';

test('docs/events.md has every event of the catalogue as it is: `npm run docs:events` writes it', async () => {
  expect(await readFile(join(projectRoot, 'docs/events.md'), 'utf8')).toBe(eventsPage());
});

test('fields are declared for existing events', () => {
  expect(Object.keys(eventFields).filter((action) => !(action in eventCatalogue))).toEqual([]);
  expect(Object.keys(eventCatalogue).filter(isDomainEvent).length).toBeGreaterThan(40);
});
