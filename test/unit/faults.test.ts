import { faultOf } from '../../src/platform/faults.js';
import { faultForLog } from '../../src/platform/log.js';

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

function faultOfBug(bug: () => unknown): ReturnType<typeof faultForLog> {
  try {
    bug();
  } catch (error) {
    return faultForLog(error);
  }
  throw new Error('this is no bug');
}

// biome-ignore lint/suspicious/noExplicitAny: bugs that the compiler would find
const sent: any = { email: 'ana@example.com' };

test.each<[string, () => unknown]>([
  ["Cannot read properties of undefined (reading 'name')", () => sent.person.name],
  ["Cannot set properties of undefined (setting 'name')", () => (sent.person.name = '')],
  ['sent.email.find is not a function', () => sent.email.find()],
  ['sent.names is not iterable', () => [...sent.names]],
])('of a bug the log has the message if that only names code: %s', (message, bug) => {
  expect(faultOfBug(bug)).toMatchObject({ fault: 'TypeError', message });
});

test.each<[string, () => unknown]>([
  ['a text with an operator for objects', () => 'id' in sent.email],
  ['a text with a new property', () => (sent.email.name = '')],
  ['what was sent as the name of a property', () => sent.people[sent.email]],
])('of a bug the log has no message if that quotes what was sent: %s', (_, bug) => {
  const logged = faultOfBug(bug);
  expect(logged.fault).toBe('TypeError');
  expect(JSON.stringify(logged)).not.toContain(sent.email);
});
