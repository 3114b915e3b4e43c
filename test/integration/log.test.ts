import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { projectRoot } from '../../src/platform/root.js';

const program = `
import { createLog } from '${projectRoot}/dist/src/platform/log.js';
const log = createLog('test', 'info');
log.info('first');
process.once('SIGTERM', () => { log.info('last'); process.exit(0); });
setInterval(() => {}, 1000);
`;

test('a process ends although nothing reads its log any more', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = await once(child.stdout, 'data');
  expect(JSON.parse(String(first).split('\n')[0] as string)).toMatchObject({
    level: 30,
    process: 'test',
    msg: 'first',
  });
  child.stdout.destroy();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(child.exitCode).toBeNull();
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('an error without a message is logged by its kind, and not with what it quotes', async () => {
  const lines = `
import { createLog } from '${projectRoot}/dist/src/platform/log.js';
const log = createLog('test', 'info');
const error = Object.assign(new Error('ana@example.com'), { code: 'E_QUOTED' });
log.warn(error);
log.child({ reqId: 'r' }).warn({ err: error });
log.warn({ err: error }, 'words');
log.warn('%s words', 'two');
log.warn({ of: 'no error' });
`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', lines], { stdio: ['ignore', 'pipe', 'inherit'] });
  const text = Buffer.concat(await child.stdout.toArray()).toString();
  expect(text).not.toContain('ana@');
  const said = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(said.map(({ msg }) => msg)).toEqual(['Error E_QUOTED', 'Error E_QUOTED', 'words', 'two words', undefined]);
  expect(said.slice(0, 3).map(({ err }) => err.fault)).toEqual(Array(3).fill('Error E_QUOTED'));
});

test('a slow reader gets every line whole', async () => {
  const lines = `
import { createLog } from '${projectRoot}/dist/src/platform/log.js';
const log = createLog('test', 'info');
for (let i = 0; i < 300; i++) log.info({ i }, 'y'.repeat(1000));
`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', lines], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const read = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).i);
  expect(read).toEqual(Array.from({ length: 300 }, (_, i) => i));
});

test('a reader that stops costs half a second, and learns later how many lines were lost', async () => {
  const lines = `
import { createLog } from '${projectRoot}/dist/src/platform/log.js';
const log = createLog('test', 'info');
const begun = performance.now();
for (let i = 0; i < 3000; i++) log.info({ i }, 'y'.repeat(1000));
process.send(performance.now() - begun);
process.once('message', () => { log.info('again'); process.disconnect(); });
`;
  const child = spawn('sh', ['-c', 'node --input-type=module -e "$LINES" | (sleep 3; cat)'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, LINES: lines },
  });
  const [took] = await once(child, 'message');
  expect(took).toBeLessThan(2_500); // otherwise each line would have waited as long as the first
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  child.send('read');
  const said = Buffer.concat(await (child.stdout as Readable).toArray())
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const lost = said.find(({ msg }) => msg === 'lines of the log were lost');
  expect(lost).toMatchObject({ level: 40, process: 'test', lost: expect.any(Number) });
  expect(said.filter(({ i }) => i !== undefined).length + lost.lost).toBe(3000);
  expect(said.at(-1)).toMatchObject({ msg: 'again' });
});

test('an error that nothing has caught ends an api or worker with a line of its kind, and prints nothing of what it holds', async () => {
  const lines = `
import { startLog } from '${projectRoot}/dist/src/start-log.js';
await startLog('api', { logLevel: 'info', traces: null });
const held = { code: '23505', detail: 'Key (email)=(ana@example.com) already exists.', parameters: ['ana@example.com'] };
Promise.reject(Object.assign(new Error('ana@example.com'), held));
setInterval(() => {}, 1000);
`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', lines], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const [said, printed] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
  expect(await ended).toEqual([1, null]);
  expect(Buffer.concat(printed).toString()).toBe('');
  const text = Buffer.concat(said).toString();
  expect(text).not.toContain('ana@');
  expect(JSON.parse(text)).toMatchObject({ level: 60, process: 'api', err: { fault: 'Error 23505' } });
});
