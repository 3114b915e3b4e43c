import { adminCallerOf } from '../../src/http/portal/admin-caller.js';

test('an operation of the Portal accepts an administrator as caller, and nobody else', () => {
  const admin = { type: 'platform_admin', userId: 'u', sessionId: 's', roles: [], capabilities: [] } as never;
  expect(adminCallerOf(admin)).toBe(admin);
  for (const type of ['api_key', 'identity']) expect(() => adminCallerOf({ type } as never)).toThrow(type);
});
