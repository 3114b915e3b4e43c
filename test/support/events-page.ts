import { type EventAction, eventCatalogue, isDomainEvent } from '../../src/domain/events/catalogue.js';
import type { EventKind } from '../../src/domain/events/event-kind.js';
import { kindInWords } from '../../src/domain/events/field-kinds.js';
import { eventFields } from '../../src/domain/events/fields.js';

const all = (Object.entries(eventCatalogue) as [EventAction, EventKind][]).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** Returns a section for each event of the change feed and of webhooks. */
export const publishedEvents = (): string =>
  all
    .filter(([action]) => isDomainEvent(action))
    .map(section)
    .join('\n');

/** Returns a table of the events that only the audit log has. */
export const otherEvents = (): string =>
  [
    '| action | resource | category | severity | `metadata` |',
    '|---|---|---|---|---|',
    ...all.filter(([action]) => !isDomainEvent(action)).map(line),
  ].join('\n');

const said = (name: string) => `\`${name}\` (${kindInWords(name)})`;

function section([action, { resource, category, severity = 'info' }]: [EventAction, EventKind]): string {
  const fields = Object.entries(eventFields[action] ?? {}).map(([name, meaning]) => `- ${said(name)}: ${meaning}\n`);
  return `### \`${action}\`\n\nResource \`${resource}\`; category \`${category}\`, severity \`${severity}\`.\n${
    fields.length > 0 ? `\n${fields.join('')}` : ''
  }`;
}

const line = ([action, { resource, category, severity = 'info' }]: [EventAction, EventKind]) => {
  const fields = Object.entries(eventFields[action] ?? {}).map(([name, meaning]) => `${said(name)}: ${meaning}`);
  return `| \`${action}\` | \`${resource}\` | \`${category}\` | \`${severity}\` | ${fields.join(' ') || '–'} |`;
};
