/**
 * Loaded before a script that a test runs (`node --import`): it ends when the process that its address names is no longer its parent,
 * however that ended. What lived on would poll the Temporal of the next run at the same port, and take its tasks for a database that
 * is gone.
 */
const parent = Number(new URL(import.meta.url).searchParams.get('parent'));
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 500).unref();
