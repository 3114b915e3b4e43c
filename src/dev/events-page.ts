import { type EventAction, type EventKind, eventCatalogue, isDomainEvent } from '../domain/events/catalogue.js';
import { kindInWords } from '../domain/events/field-kinds.js';
import { eventFields } from '../domain/events/fields.js';

const introduction = `# Events

<!-- Made by \`npm run docs:events\` from src/domain/events/catalogue.ts and src/domain/events/fields.ts. -->

Every change is recorded as one row, written in the transaction of the change
([0001](decisions/0001-one-events-table.md)). The change feed, \`GET /api/v1/changes\`, webhooks
([0028](decisions/0028-webhooks.md)) and the audit log read it
([0027](decisions/0027-audit-log-and-change-feed.md)). Rows contain IDs, names of fields and plain settings: no secrets, and
nothing about a person except their ID.

An item of the feed has \`type\`, \`resource_type\`, \`resource_id\`, \`occurred_at\` and \`data\` with the fields below; ignore
fields that you do not know. A row of the audit log has the same fields in \`metadata\`. A webhook delivery has \`type\`,
\`timestamp\`, \`environment_id\`, \`account_id\`, and \`data\` with the same fields and \`resource_type\` and \`resource_id\`.
Webhooks of an environment do not receive events that begin with \`account.\`, \`administrator_invite.\`,
\`administrator_role.\`, \`application.\`, \`environment.\` or \`member.\`: those are delivered to webhooks of the account only.
No event has other fields than these, or values of other kinds: the tests check every event. The OpenAPI document has
the fields as \`EventData\`, and the [client](../client/README.md) as types.

## In the change feed and webhooks
`;
const onlyAudit = `
## Only in the audit log

| action | resource | category | severity | \`metadata\` |
|---|---|---|---|---|
`;

/** Returns the page of all event types, `docs/events.md`. */
export function eventsPage(): string {
  const all = Object.entries(eventCatalogue) as [EventAction, EventKind][];
  const told = all.filter(([action]) => isDomainEvent(action)).toSorted(byName);
  const others = all.filter(([action]) => !isDomainEvent(action)).toSorted(byName);
  return `${introduction}${told.map(section).join('')}${onlyAudit}${others.map(line).join('')}`;
}

const said = (name: string) => `\`${name}\` (${kindInWords(name)})`;
const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

function section([action, { resource, category, severity = 'info' }]: [EventAction, EventKind]): string {
  const fields = Object.entries(eventFields[action] ?? {}).map(([name, meaning]) => `- ${said(name)}: ${meaning}\n`);
  return `\n### \`${action}\`\n\nResource \`${resource}\`; category \`${category}\`, severity \`${severity}\`.\n${
    fields.length > 0 ? `\n${fields.join('')}` : ''
  }`;
}

const line = ([action, { resource, category, severity = 'info' }]: [EventAction, EventKind]) => {
  const fields = Object.entries(eventFields[action] ?? {}).map(([name, meaning]) => `${said(name)}: ${meaning}`);
  return `| \`${action}\` | \`${resource}\` | \`${category}\` | \`${severity}\` | ${fields.join(' ') || '–'} |\n`;
};
