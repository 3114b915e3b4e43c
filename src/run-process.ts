import { ConfigError } from './config.js';
import { isOutage } from './platform/outages.js';
import { StartError } from './platform/start-error.js';

/** Says what keeps a process from starting, in one line for each reason, and ends it with a non-zero exit code. */
export async function runProcess(name: string, start: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (error) {
    for (const line of reasons(error)) process.stderr.write(`gatehouse ${name}: ${line}\n`);
    process.exit(1);
  }
}

function reasons(error: unknown): string[] {
  if (error instanceof ConfigError) return error.lines;
  if (error instanceof StartError) return [error.message];
  const { code, message, stack, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return [`port ${port} is in use`];
  if (isOutage(error)) return [`PostgreSQL does not answer: ${message || code}`];
  const driver = (error as { driverError?: { code?: string } }).driverError ?? (error as { code?: string });
  if (/^(28...|3D000)$/.test(driver.code ?? '')) return [`PostgreSQL refuses the connection: ${message}`];
  return [stack ?? String(message)];
}
