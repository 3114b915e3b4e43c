import { answerInstead } from '../../src/command.js';

const migrate = { usage: 'npm run migrate', about: 'Brings the schema up to date.' };
const reset = { usage: 'npm run reset-mfa -- ana@example.com', about: 'Resets.', operands: ['the address'] };

test.each([['--help'], ['-h'], ['--help', 'ana@example.com'], ['ana@example.com', '-h']])(
  '%s gets an explanation, and does nothing',
  (...given) => {
    expect(answerInstead(reset, given)).toBe(
      'Usage: npm run reset-mfa -- ana@example.com\n\nResets.\nSettings: README.md.\n',
    );
  },
);

test.each([
  [migrate, ['--dry-run'], 'unknown option --dry-run; usage: npm run migrate'],
  [migrate, ['production'], 'too many arguments; usage: npm run migrate'],
  [reset, ['ana@example.com', 'eve@example.com'], `too many arguments; usage: ${reset.usage}`],
  [reset, ['--force', 'ana@example.com'], `unknown option --force; usage: ${reset.usage}`],
  [reset, [], `the address is missing; usage: ${reset.usage}`],
])('%j refuses %j, and shows its usage', (command, given, words) => {
  expect(() => answerInstead(command, given)).toThrow(new Error(words));
});

test('a valid call goes on', () => {
  expect(answerInstead(migrate, [])).toBeUndefined();
  expect(answerInstead(reset, ['ana@example.com'])).toBeUndefined();
});
