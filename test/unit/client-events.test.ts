import type { ChangeEvent, WebhookEvent } from '../../client/index.js';

/**
 * An application's use of events, as its compiler sees it; `tsc` is the test, and these show that it is no dead code.
 */

function told(event: WebhookEvent): string {
  const where = event.environment_id ?? event.account_id;
  if (event.type === 'webhook.test') return `a test of ${event.data.resource_id} at ${event.timestamp}`;
  if (event.type === 'identity.signed_out') return `${event.data.session_id} of ${event.data.resource_id} in ${where}`;
  if (event.type === 'organization.member_added') return `${event.data.identity_id} to ${event.data.resource_id}`;
  return event.type;
}

function read(event: ChangeEvent): string {
  if (event.type === 'role.updated') return `${event.resource_id} at ${event.occurred_at}: ${event.data.changed}`;
  return `${event.type} ${event.cursor}`;
}

const around = { timestamp: '2030-01-01T00:00:00.000Z', account_id: 'account', environment_id: null };

test('a webhook call says what happened where, and to what; a test is such a call', () => {
  const data = { resource_type: 'webhook', resource_id: 'it' };
  expect(told({ ...around, type: 'webhook.test', data })).toBe('a test of it at 2030-01-01T00:00:00.000Z');
  const signedOut = { resource_type: 'identity', resource_id: 'ana', session_id: 'the session' };
  expect(told({ ...around, type: 'identity.signed_out', data: signedOut })).toBe('the session of ana in account');
  const joined = { resource_type: 'organization', resource_id: 'acme', identity_id: 'ana' };
  expect(told({ ...around, type: 'organization.member_added', data: joined })).toBe('ana to acme');
});

test('an item of the change feed has its data besides its subject', () => {
  const about = { resource_type: 'role', resource_id: 'it', occurred_at: 'then', cursor: 'next' };
  expect(read({ ...about, type: 'role.updated', data: { changed: ['name'] } })).toBe('it at then: name');
  expect(read({ ...about, type: 'role.deleted', data: {} })).toBe('role.deleted next');
});
