import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled } from './compiled.js';

const require = createRequire(import.meta.url);
const eventHandlers = Symbol.for('EVENT_HANDLERS'); // jest-circus keeps a file's tests in the handlers
let files = 0;

/** How jest loads what a test file needs: as Node does, once a process, instead of again for every file. */
export default class Runtime {
  #mocker;

  constructor(_config, { moduleMocker }) {
    this.#mocker = moduleMocker;
    files++;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** Imports test files and their set-up files, which run for each file, unlike what they import. */
  async unstable_importModule(path) {
    const url = pathToFileURL(path);
    url.searchParams.set('file', String(files));
    return import(url.href);
  }

  /** Loads jest-circus: a new instance for each file, since it holds the file's tests. */
  requireInternalModule(path) {
    globalThis[eventHandlers] = undefined;
    delete require.cache[path];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  /** Provides the few functions of `jest` that work without its module loader. */
  setGlobalsForRuntime() {
    const mocker = this.#mocker;
    globalThis.jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
    };
  }

  getSourceMaps() {
    return new SourceMaps();
  }

  enterTestCode() {}
  leaveTestCode() {}
  getAllCoverageInfoCopy() {}
  teardown() {}
}

/** Maps compiled files to their source maps; looked up only when a stack is shown. */
class SourceMaps extends Map {
  get(url) {
    const ours = /^file:.*\.ts(\?|$)/.test(url) && !url.includes('/node_modules/');
    return ours ? compiled(fileURLToPath(url)).mapPath : undefined;
  }
}
