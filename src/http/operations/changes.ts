import { Type } from 'typebox';
import type { Change } from '../../domain/changes/feed.js';
import { invalidField } from '../../domain/errors.js';
import { type EventAction, isDomainEvent } from '../../domain/events/catalogue.js';
import { seconds } from '../../platform/clock.js';
import { errors, operation } from '../surfaces/operation.js';
import { Metadata, Nullable, Resource, Timestamp } from '../surfaces/schemas.js';

const Cursor = (description: string) => Type.String({ description });
const ChangeView = Resource(
  'Change',
  {
    cursor: Cursor('Send it to continue after this item.'),
    type: Type.String(),
    resource_type: Type.String(),
    resource_id: Nullable(Type.String()),
    occurred_at: Timestamp,
    data: Metadata,
  },
  {
    example: {
      cursor: 'AQAAAAAAAAQMAZqnUm40cACLPSiWykl0R7Oq5WyVZ1qH',
      type: 'node.moved',
      resource_type: 'node',
      resource_id: '019aa752-6e34-7000-8b3d-2896ca497447',
      occurred_at: '2026-11-21T09:30:00.000Z',
      data: { node_type: 'unit', parent_node_id: '019aa752-6e33-7000-8b3d-2896ca497447', version: 4 },
    },
  },
);

/** Seconds. */
const maxWait = 30;

export const listChanges = operation({
  id: 'listChanges',
  method: 'GET',
  path: '/changes',
  summary: 'Read the change feed',
  description:
    'Returns what happened in the environment, oldest first: the same events that webhooks deliver, for polling. Begin ' +
    'without a cursor, store `next_cursor` once its items are processed, and send it with the next request: nothing is ' +
    'missed and nothing changes its position, however many requests write at the same time. To keep a copy of something, get ' +
    'the cursor after `latest` first, then read the lists, then follow their changes. A change appears as soon as ' +
    'no older transaction is in progress. Events are kept for at least 90 days; a cursor from before that is refused ' +
    'with 410. With `wait`, a response without items is only sent after that many seconds. With `types`, `has_more` may ' +
    'be true although there are no items: continue immediately. `docs/events.md` describes `data` for each type.',
  tag: 'Change feed',
  level: 'environment',
  permission: 'changes.read',
  capability: 'audit.view',
  query: Type.Object(
    {
      cursor: Type.Optional(
        Type.String({
          maxLength: 200,
          description:
            '`next_cursor` of the last response. Without one, the feed begins with the oldest event kept; with `latest`, with what ' +
            'happens from now on (something from the last seconds may be returned, too).',
        }),
      ),
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
      types: Type.Optional(
        Type.String({ minLength: 1, maxLength: 4000, description: 'For example `node.created,node.moved`.' }),
      ),
      wait: Type.Integer({ minimum: 0, maximum: maxWait, default: 0, description: 'Seconds.' }),
    },
    { additionalProperties: false },
  ),
  answers: {
    200: Type.Object({
      items: Type.Array(ChangeView),
      next_cursor: Cursor('Send it to continue after these items. Always present.'),
      has_more: Type.Boolean({ description: 'Whether more can be read immediately.' }),
    }),
    ...errors('validation.failed', 'changes.cursor_invalid', 'changes.cursor_expired'),
  },
  waitsMs: seconds(maxWait),
  async handle({ services, scope, query }) {
    const { items, nextCursor, hasMore } = await services.changeFeed.read(scope, {
      cursor: query.cursor ?? null,
      limit: query.limit,
      types: query.types === undefined ? null : typesOf(query.types),
      waitMs: seconds(query.wait),
    });
    return { items: items.map(present), next_cursor: nextCursor, has_more: hasMore };
  },
});

const present = ({ cursor, type, resourceType, resourceId, occurredAt, data }: Change) => ({
  cursor,
  type,
  resource_type: resourceType,
  resource_id: resourceId,
  occurred_at: occurredAt,
  data,
});

/** @throws DomainError validation.failed if one of the types is not in the feed */
function typesOf(text: string): EventAction[] {
  const types = text.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !isDomainEvent(type));
  if (unknown !== undefined)
    throw invalidField('query.types', 'unknown', `"${unknown}" is not an event type of this feed`);
  return types as EventAction[];
}
