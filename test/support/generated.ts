import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';

/**
 * Expects a document's part between `<!-- generated: name -->` and `<!-- end -->` to be what the code generates now.
 * `npm run generate` has it write that part instead.
 */
export async function expectGenerated(document: string, name: string, content: string): Promise<void> {
  const path = join(projectRoot, document);
  const text = await readFile(path, 'utf8');
  const [begin, end] = [`<!-- generated: ${name} -->\n`, '<!-- end -->'];
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${document} has no part named ${name}`);
  const wanted = `${text.slice(0, from + begin.length)}\n${content.trim()}\n\n${text.slice(to)}`;
  if (process.env.UPDATE_DOCS) return await writeFile(path, wanted);
  if (text !== wanted) throw new Error(`${document} is not what the code is like now: npm run generate`);
}
