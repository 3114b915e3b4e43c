import { StartError } from './platform/start-error.js';

/** How a program is used. */
export interface Command {
  /** The command line, such as `npm run migrate`. */
  usage: string;
  /** What the program does, for `--help`. */
  about: string;
  /** The names of the arguments that have to follow, in order; none by default. */
  operands?: readonly string[];
}

/**
 * Checks a program's arguments before it does anything, so that `--help` or a typing error does nothing to a database.
 * @returns the text to print instead of running the program, or undefined
 * @throws StartError for an unknown option, and for an operand too many or too few
 */
export function answerInstead(
  { usage, about, operands = [] }: Command,
  given = process.argv.slice(2),
): string | undefined {
  if (given.includes('--help') || given.includes('-h')) return `Usage: ${usage}\n\n${about}\nSettings: README.md.\n`;
  const option = given.find((argument) => argument.startsWith('-'));
  if (option !== undefined) throw new StartError(`unknown option ${option}; usage: ${usage}`);
  if (given.length > operands.length) throw new StartError(`too many arguments; usage: ${usage}`); // not quoted, as one may be an address
  const missing = operands[given.length];
  if (missing) throw new StartError(`${missing} is missing; usage: ${usage}`);
  return undefined;
}
