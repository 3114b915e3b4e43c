import { answerInstead, type Command } from './command.js';
import { ConfigError } from './config.js';
import { driverErrorOf, hasCondition } from './platform/database/postgres-errors.js';
import { isOutage } from './platform/outages.js';
import { StartError } from './platform/start-error.js';
import { isTlsFault } from './platform/tls-faults.js';

/**
 * Says what keeps a process from starting, in one line for each reason, and ends it with a non-zero exit code. Who asks for
 * `--help` is told what it does, and nothing is done.
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
