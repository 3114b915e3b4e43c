import { faultOf } from '../../src/platform/faults.js';

const withCode = (code: string, message: string) => Object.assign(new Error(message), { code });

test.each([
  [new Error('Query read timeout'), 'Error query-timeout'],
  [new Error('timeout exceeded when trying to connect'), 'Error pool-timeout'],
  [new Error('Connection terminated due to connection timeout'), 'Error connection-terminated'],
  [new Error('Connection terminated unexpectedly'), 'Error connection-terminated'],
  [withCode('ECONNRESET', 'Connection terminated unexpectedly'), 'Error ECONNRESET'],
  [new Error('ana@example.com: Query read timeout'), 'Error'],
  [new TypeError('ana@example.com is nobody'), 'TypeError'],
  ['a text', 'unknown failure'],
])('%s is %s in logs and histories, without its message', (error, fault) => {
  expect(faultOf(error)).toBe(fault);
});
