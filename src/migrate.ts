import 'reflect-metadata';
import { loadConfig } from './config.js';
import { migrate } from './platform/database/migrations.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm run migrate',
  about: `Brings the schema of PostgreSQL up to date, as the role of DATABASE_OWNER_URL, and lets the role of DATABASE_URL use it.
The service may be at work meanwhile. Running it again goes on where it stopped.`,
};

await runProcess('migrate', command, async () => {
  const { database } = loadConfig('migrate');
  const ran = await migrate(database.ownerUrl as string, database.url as string, {
    onWait: () => process.stdout.write('a table is in use: giving way, and trying again\n'),
    onWarning: (warning) => process.stderr.write(`gatehouse migrate: ${warning}\n`),
  });
  process.stdout.write(
    ran.length === 0 ? 'schema is up to date\n' : `${ran.map((name) => `ran ${name}`).join('\n')}\n`,
  );
});
