import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../../src/platform/root.js';

const script = pathToFileURL(join(projectRoot, 'dist/test/support/end-with-parent.js')).href;

/** Options of Node for a process that `parent` starts: it ends when that is gone, be it by SIGKILL. */
export const endingWith = (parent: number): string[] => ['--import', `${script}?parent=${parent}`];
