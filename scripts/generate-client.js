// Part of `npm run generate`: writes client/schema.ts, the types of the Public API, AuthZEN and the Portal's additional
// operations, from the OpenAPI document. With --check it only says whether the file is current.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'reflect-metadata';
import { clientDocument } from '../dist/scripts/client-document.js';
import { openApiDocument } from '../dist/src/openapi-document.js';

const file = new URL('../client/schema.ts', import.meta.url).pathname;
const written = generate(clientDocument(await openApiDocument()));
if (!process.argv.includes('--check')) writeFileSync(file, written);
else if (readFileSync(file, 'utf8') !== written) {
  process.stderr.write('client/schema.ts is not what the API is like now: npm run generate\n');
  process.exitCode = 1;
}

/** Runs openapi-typescript, a dependency of the client alone: it needs a TypeScript with the compiler API. */
function generate(document) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-client-'));
  try {
    const [input, output] = [join(folder, 'openapi.json'), join(folder, 'schema.ts')];
    writeFileSync(input, JSON.stringify(document));
    const manifest = createRequire(new URL('../client/', import.meta.url)).resolve('openapi-typescript/package.json');
    const command = join(manifest, '..', JSON.parse(readFileSync(manifest, 'utf8')).bin['openapi-typescript']);
    const options = ['--root-types', '--root-types-no-schema-prefix', '--default-non-nullable=false'];
    execFileSync(process.execPath, [command, input, '-o', output, ...options], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return readFileSync(output, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
