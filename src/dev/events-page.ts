import { type EventAction, type EventKind, eventCatalogue, isDomainEvent } from '../domain/event-catalogue.js';
import { kindInWords } from '../domain/event-field-kinds.js';
import { eventFields } from '../domain/event-fields.js';

const introduction = `# Events

<!-- Made by \`npm run docs:events\` from src/domain/event-catalogue.ts and src/domain/event-fields.ts. -->

Whatever changes is one row, written in the transaction of its change
([0001](decisions/0001-one-events-table.md)). The change feed, \`GET /api/v1/changes\`, webhooks
([0028](decisions/0028-webhooks.md)) and the audit log read it
([0027](decisions/0027-audit-log-and-change-feed.md)). Rows hold ids, names of fields and plain settings: no secret, and
nothing of a person but their id.

An item of the feed has \`type\`, \`resource_type\`, \`resource_id\`, \`occurred_at\` and \`data\` with the fields below; ignore
fields that you do not know. Each row of the audit log has its \`data\` as \`metadata\`. What a webhook is told has \`type\`,
\`timestamp\`, \`data\` with the same fields and \`resource_type\` and \`resource_id\` among them, \`environment_id\` and
\`account_id\`. Subscriptions of an environment are not told what begins with \`account.\`, \`administrator_invite.\`,
\`administrator_role.\`, \`application.\`, \`environment.\` or \`member.\`: those are for the account's.
Nothing is recorded with other fields than these, or other values: the tests hold every event to them. The OpenAPI document has
them as \`EventData\`, and the [client](../client/README.md) as types.

## In the change feed, and for webhooks
`;
const onlyAudit = `
## In the audit log alone

| action | resource | category | severity | \`metadata\` |
|---|---|---|---|---|
`;

/** The page of every type of event, \`docs/events.md\`. */
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
  return `\n### \`${action}\`\n\nOf \`${resource}\`; category \`${category}\`, severity \`${severity}\`.\n${
    fields.length > 0 ? `\n${fields.join('')}` : ''
  }`;
}

const line = ([action, { resource, category, severity = 'info' }]: [EventAction, EventKind]) => {
  const fields = Object.entries(eventFields[action] ?? {}).map(([name, meaning]) => `${said(name)}: ${meaning}`);
  return `| \`${action}\` | \`${resource}\` | \`${category}\` | \`${severity}\` | ${fields.join(' ') || '–'} |\n`;
};
