import { eventCatalogue, isDomainEvent } from '../../domain/events/catalogue.js';
import { schemaOfField } from '../../domain/events/field-kinds.js';
import { eventFields } from '../../domain/events/fields.js';

/**
 * The schemas of `data` in the change feed's items and in webhook deliveries: one property for each type of event.
 * OpenAPI 3.0 has no webhooks; generated clients get their types from here.
 */
export const eventData = {
  type: 'object',
  description:
    'The `data` of events by their `type`, in the change feed and in webhook deliveries. Fields that do not apply are ' +
    'left out; ignore fields that you do not know.',
  properties: Object.fromEntries(
    Object.keys(eventCatalogue)
      .filter(isDomainEvent)
      .toSorted()
      .map((action) => [action, { type: 'object', properties: propertiesOf(eventFields[action] ?? {}) }]),
  ),
};

function propertiesOf(fields: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(fields).map(([name, meaning]) => [name, schemaOfField(name, meaning)]));
}
