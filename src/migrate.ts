import 'reflect-metadata';
import { loadConfig } from './config.js';
import { migrate } from './platform/migrations.js';
import { runProcess } from './run-process.js';

await runProcess('migrate', async () => {
  const { database } = loadConfig('migrate');
  const ran = await migrate(database.ownerUrl as string, database.url as string, {
    onWait: () => process.stdout.write('a table is in use: giving way, and trying again\n'),
  });
  process.stdout.write(
    ran.length === 0 ? 'schema is up to date\n' : `${ran.map((name) => `ran ${name}`).join('\n')}\n`,
  );
});
