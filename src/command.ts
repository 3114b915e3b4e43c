import { StartError } from './platform/start-error.js';

/** How a program is called. */
export interface Command {
  /** What is typed, such as `npm run migrate`. */
  usage: string;
  /** What it does, for whoever asks with `--help`. */
  about: string;
  /** What has to follow it, by name, in order; nothing unless said. */
  operands?: readonly string[];
}

/**
 * Reads a program's arguments before it does anything: who asks what it does, or mistypes, has nothing done to their database.
 * @returns what is to be printed instead of going on, or undefined
 * @throws StartError for an option or an operand that it does not know, and for a missing one
 */
export function answerInstead(
  { usage, about, operands = [] }: Command,
  given = process.argv.slice(2),
): string | undefined {
  if (given.includes('--help') || given.includes('-h')) return `Usage: ${usage}\n\n${about}\nSettings: README.md.\n`;
  const option = given.find((argument) => argument.startsWith('-'));
  if (option !== undefined) throw new StartError(`unknown option ${option}; usage: ${usage}`);
  if (given.length > operands.length) throw new StartError(`too many arguments; usage: ${usage}`); // one may be an address
  const missing = operands[given.length];
  if (missing) throw new StartError(`${missing} is missing; usage: ${usage}`);
  return undefined;
}
