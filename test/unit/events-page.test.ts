import { eventCatalogue, isDomainEvent } from '../../src/domain/events/catalogue.js';
import { eventFields } from '../../src/domain/events/fields.js';
import { otherEvents, publishedEvents } from '../support/events-page.js';
import { expectGenerated } from '../support/generated.js';

test('docs/events.md has every event of the catalogue as it is', async () => {
  await expectGenerated('docs/events.md', 'published events', publishedEvents());
  await expectGenerated('docs/events.md', 'other events', otherEvents());
});

test('fields are declared for existing events', () => {
  expect(Object.keys(eventFields).filter((action) => !(action in eventCatalogue))).toEqual([]);
  expect(Object.keys(eventCatalogue).filter(isDomainEvent).length).toBeGreaterThan(40);
});
