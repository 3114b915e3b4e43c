import { isDomainEvent } from '../../src/domain/events/catalogue.js';
import { assertDeclared } from '../../src/domain/events/declarations.js';
import { isOfItsKind, kindInWords } from '../../src/domain/events/field-kinds.js';
import { eventData } from '../../src/http/openapi/event-data.js';

const id = '0190b0a0-0000-7000-8000-000000000000';

test.each<[name: string, words: string, right: unknown[], wrong: unknown[]]>([
  ['reason', 'text', ['expired', ''], [1, null, ['a']]],
  ['version', 'integer', [1, 0], ['1', 1.5, null]],
  ['is_active', 'boolean', [true], ['true', 1, null]],
  ['identity_id', 'id', [id], ['ana', `${id}0`, null, [id]]],
  ['organization_id', 'id or null', [id, null], ['acme']],
  ['role_ids', 'ids', [[], [id]], [id, ['x'], null]],
  ['changed', 'texts', [['name']], ['name', [1]]],
  ['at', 'time', ['2026-01-31T12:00:00.000Z', new Date()], ['tomorrow', 1, null]],
  ['effective_to', 'time or null', [null], ['never']],
  ['limits', 'object or null', [{}, null], [[], 'x']],
  ['roles', 'objects', [[{}]], [{}, ['x']]],
])('%s is %s', (name, words, right, wrong) => {
  expect(kindInWords(name)).toBe(words);
  expect(right.filter((value) => !isOfItsKind(name, value))).toEqual([]);
  expect(wrong.filter((value) => isOfItsKind(name, value))).toEqual([]);
  expect(isOfItsKind(name, undefined)).toBe(true);
});

test('an event with a value of another kind is a fault of the service, and fails a test', () => {
  expect(() => assertDeclared('identity.updated', { changed: 'name' }, undefined)).toThrow(
    'changed of identity.updated is not texts (events/field-kinds.ts)',
  );
});

test('the document has the data of each published event, and of no other', () => {
  const { properties } = eventData;
  expect(Object.keys(properties).filter((action) => !isDomainEvent(action))).toEqual([]);
  expect(properties['organization.member_added']).toEqual({
    type: 'object',
    properties: {
      identity_id: { type: 'string', format: 'uuid', description: 'The member.' },
      role_ids: {
        type: 'array',
        items: { type: 'string', format: 'uuid' },
        description: 'The roles that were assigned there.',
      },
    },
  });
});
