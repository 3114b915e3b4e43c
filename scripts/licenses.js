/**
 * Prints the licenses of all installed packages, from package-lock.json or, if that has none, from the package itself;
 * with `--check` only those that are not allowed. Exits with 1 if there are any.
 */
import { existsSync, readFileSync } from 'node:fs';

/** SPDX ids of licenses that require at most their notice, which is in each package. */
const allowed = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 Python-2.0 Unlicense'.split(' '),
);
/** Exceptions for single packages, checked by a person. */
const looked = {
  'axe-core': 'MPL-2.0', // only in tests, unchanged
  'caniuse-lite': 'CC-BY-4.0', // data
  slick: 'MIT', // "MIT (http://mootools.net/license.txt)"
  unionfs: 'Unlicense', // in its LICENSE file
  'xml-escape': 'MIT', // "MIT License"
  'xmlhttprequest-ssl': 'MIT', // in the old form of a list
};

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const installed = Object.entries(packages).filter(([path, entry]) => path.includes('node_modules/') && !entry.link);

/** Returns the package that asks for one platform's binary and has its license: other platforms do not install it. */
const asker = (name) =>
  installed.find(([, entry]) => name in (entry.optionalDependencies ?? {}) && typeof entry.license === 'string')?.[1];

function licenseOf(path, entry) {
  const name = nameOf(path);
  if (name in looked) return looked[name];
  if (entry.license) return entry.license;
  const file = `${path}/package.json`;
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')).license ?? 'unknown';
  return (entry.optional && asker(name)?.license) || 'unknown';
}

/** Whether one alternative (`OR`) has only allowed licenses (`AND`); none of these expressions nests. */
const isAllowed = (license, name) =>
  license === looked[name] ||
  license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((offer) => offer.split(' AND ').every((id) => allowed.has(id)));

const list = installed.map(([path, entry]) => {
  const [name, license] = [nameOf(path), licenseOf(path, entry)];
  return { line: `${name}@${entry.version} ${license}`, isAllowed: isAllowed(String(license), name) };
});
const refused = list.filter((one) => !one.isAllowed);
const shown = process.argv.includes('--check') ? refused : list;
for (const { line, isAllowed } of shown) process.stdout.write(`${line}${isAllowed ? '' : ' IS NOT ALLOWED'}\n`);
process.exitCode = refused.length > 0 ? 1 : 0;
