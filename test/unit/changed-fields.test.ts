import { changedFields } from '../../src/domain/changed-fields.js';

test('fields that differ are named as in the APIs', () => {
  const current = { name: 'a', redirectUris: ['https://a.example'], logoUrl: null };
  expect(changedFields(current, { redirectUris: ['https://b.example'], logoUrl: 'https://a.example/l.png' })).toEqual([
    'redirect_uris',
    'logo_url',
  ]);
});

test('a present value, or none, is no change', () => {
  const current = { name: 'a', redirectUris: ['https://a.example'] };
  expect(changedFields(current, { name: 'a', redirectUris: ['https://a.example'], logoUrl: undefined })).toEqual([]);
});

test('the order of an object’s members is no change at any depth, that of an array is one', () => {
  const current = { metadata: { b: 1, aa: [{ d: null, c: 0 }] } };
  expect(changedFields(current, { metadata: { aa: [{ c: -0, d: null }], b: 1 } })).toEqual([]);
  expect(changedFields(current, { metadata: { aa: [{ c: 0, d: 1 }], b: 1 } })).toEqual(['metadata']);
  expect(changedFields({ scopes: ['a', 'b'] }, { scopes: ['b', 'a'] })).toEqual(['scopes']);
});
