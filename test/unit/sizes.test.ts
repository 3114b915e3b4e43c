import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from '@swc/core';
import { projectRoot } from '../../src/platform/root.js';

/** A file has one reason to change, and a function fits on a screen. */
const maxOfFile = 300;
const maxOfFunction = 60;

/** Longer ones, and why they stay. */
const longer: Record<string, string> = {
  'src/compose.ts composeApi': 'the composition root reads from top to bottom',
  'src/config.ts loadConfig': 'one line for each setting',
  'src/http/admin-auth/accounts-resume.ts': 'the declarations of three routes of one path; the handlers are short',
};

interface Sized {
  what: string;
  lines: number;
}
type Tree = Record<string, unknown> & { type?: string; span?: { start: number; end: number } };
const functions =
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|ClassMethod|MethodProperty|Constructor)$/;

/** Returns each function's lines without nested functions: a service is a list of functions, each seen by itself. */
function functionsOf(path: string, text: Buffer, program: Tree): Sized[] {
  // Spans count bytes from the first token on, so line counts between two of them are right wherever that is.
  const breaks = new Uint32Array(text.length + 1);
  for (const [i, byte] of text.entries()) breaks[i + 1] = (breaks[i] as number) + (byte === 10 ? 1 : 0);
  const shift = firstByte(text.toString());
  const begin = program.span?.start ?? 0;
  const lineOf = (position: number) => breaks[position - begin + shift] as number;
  const found: Sized[] = [];
  const visit = (node: unknown, around: Sized | null): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, around);
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
    const { type, span, ...parts } = node as Tree;
    let within = around;
    if (span && functions.test(type ?? '')) {
      const lines = lineOf(span.end) - lineOf(span.start) + 1;
      const { identifier, key } = parts as { identifier?: { value: string }; key?: { value: string } };
      const name = identifier?.value ?? key?.value;
      within = { what: name ? `${path} ${name}` : path, lines };
      if (around) around.lines -= lines - 1;
      found.push(within);
    }
    for (const part of Object.values(parts)) visit(part, within);
  };
  visit(program.body, null);
  return found;
}

/** Returns the offset of the first token, after comments and blanks. */
const firstByte = (text: string) => Buffer.byteLength(/^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*/.exec(text)?.[0] ?? '');

async function sizesOf(folder: string): Promise<{ files: Sized[]; functions: Sized[] }> {
  const names = (await readdir(join(projectRoot, folder), { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !name.startsWith('migrations/'),
  );
  const sizes = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const text = await readFile(join(projectRoot, path));
      const program = await parse(text.toString(), { syntax: 'typescript', decorators: true });
      const file = { what: path, lines: text.toString().split('\n').length - 1 };
      return { file, functions: functionsOf(path, text, program as unknown as Tree) };
    }),
  );
  return { files: sizes.map(({ file }) => file), functions: sizes.flatMap((size) => size.functions) };
}

const all = await Promise.all(['src', 'workflows', 'activities', 'entities'].map(sizesOf));
const tooLong = (sizes: Sized[], most: number) =>
  sizes.filter(({ what, lines }) => lines > most && !(what in longer)).map(({ what, lines }) => `${what}: ${lines}`);

test(`no file has more than ${maxOfFile} lines`, () => {
  const files = all.flatMap((one) => one.files);
  expect(files.length).toBeGreaterThan(300);
  expect(tooLong(files, maxOfFile)).toEqual([]);
});

test(`no function has more than ${maxOfFunction} lines of its own`, () => {
  const own = all.flatMap((one) => one.functions);
  expect(own.length).toBeGreaterThan(1500);
  expect(tooLong(own, maxOfFunction)).toEqual([]);
});

test('every exception is still longer than allowed', () => {
  const long = all.flatMap(({ functions: own }) => own.filter(({ lines }) => lines > maxOfFunction));
  expect(Object.keys(longer).filter((what) => !long.some((one) => one.what === what))).toEqual([]);
});
