import { changedFields } from '../../src/domain/changed-fields.js';

test('fields that differ are named as the APIs name them', () => {
  const current = { name: 'a', redirectUris: ['https://a.example'], logoUrl: null };
  expect(changedFields(current, { redirectUris: ['https://b.example'], logoUrl: 'https://a.example/l.png' })).toEqual([
    'redirect_uris',
    'logo_url',
  ]);
});

test('what is sent as it was already, or not at all, is no change', () => {
  const current = { name: 'a', redirectUris: ['https://a.example'] };
  expect(changedFields(current, { name: 'a', redirectUris: ['https://a.example'], logoUrl: undefined })).toEqual([]);
});
