import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../../src/platform/root.js';

const script = pathToFileURL(join(projectRoot, 'dist/test/support/end-with-parent.js')).href;

/** Returns Node options for a child of `parent` that ends when `parent` has ended, even by SIGKILL. */
export const endingWith = (parent: number): string[] => ['--import', `${script}?parent=${parent}`];
