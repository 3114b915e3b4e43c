/**
 * Loaded before a script that a test runs (`node --import`): ends the script when the process that its URL names is no
 * longer its parent, however that process ended. A script that survived would poll the Temporal of the next run at the
 * same port, and take its tasks for a database that does not exist any more.
 */
const parent = Number(new URL(import.meta.url).searchParams.get('parent'));
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 500).unref();
