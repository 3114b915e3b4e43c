import { answerInstead, type Command } from './command.js';
import { ConfigError } from './config.js';
import { driverErrorOf, hasCondition } from './platform/database/postgres-errors.js';
import { isOutage } from './platform/outages.js';
import { StartError } from './platform/start-error.js';
import { isTlsFault } from './platform/tls-faults.js';

/**
 * Starts a process. If it cannot start, prints one line for each reason, and exits with 1. With `--help`, only prints
 * what the program does.
 */
export async function runProcess(name: string, command: Command, start: () => Promise<void>): Promise<void> {
  try {
    const answer = answerInstead(command);
    if (answer === undefined) await start();
    else process.stdout.write(answer);
  } catch (error) {
    for (const line of reasons(error)) process.stderr.write(`gatehouse ${name}: ${line}\n`);
    process.exit(1);
  }
}

function reasons(error: unknown): string[] {
  if (error instanceof ConfigError) return error.lines;
  if (error instanceof StartError) return [error.message];
  const sqlState = driverErrorOf(error)?.code ?? '';
  const { code, message, stack, syscall, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return [`port ${port} is in use`];
  if (syscall === 'listen') return [`HOST or PORT cannot be listened on: ${message}`];
  if (/^(25006|53100)$/.test(sqlState)) return [`PostgreSQL takes no changes: ${message}`];
  if (isTlsFault(code ?? '') || /does not support SSL/.test(message))
    return [`PostgreSQL is not reached over TLS: ${message}`];
  if (/^(28...|3D000)$/.test(sqlState)) return [`PostgreSQL refuses the connection: ${message}`];
  if (isOutage(error)) return [`PostgreSQL does not answer: ${message || code}`];
  if (hasCondition(error, 'insufficient_privilege')) return [`PostgreSQL does not permit it: ${message}`];
  return [stack ?? String(message)];
}
