import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled } from './compiled.js';

const require = createRequire(import.meta.url);
const eventHandlers = Symbol.for('EVENT_HANDLERS'); // jest-circus keeps what a file's tests do in it
let files = 0;

/** How jest loads what a test file needs: as Node does, once a process, instead of anew for every file. */
export default class Runtime {
  #mocker;

  constructor(_config, { moduleMocker }) {
    this.#mocker = moduleMocker;
    files++;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** Test files and what is set up after the environment: run for each file, unlike what they import. */
  async unstable_importModule(path) {
    const url = pathToFileURL(path);
    url.searchParams.set('file', String(files));
    return import(url.href);
  }

  /** jest-circus: a new one for each file, since it has the file's tests. */
  requireInternalModule(path) {
    globalThis[eventHandlers] = undefined;
    delete require.cache[path];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  /** The few things of `jest` that work without its module loader. */
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

/** Where the map of a compiled file is; looked up only where a stack is shown. */
class SourceMaps extends Map {
  get(url) {
    const ours = /^file:.*\.ts(\?|$)/.test(url) && !url.includes('/node_modules/');
    return ours ? compiled(fileURLToPath(url)).mapPath : undefined;
  }
}
