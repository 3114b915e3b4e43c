import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled } from './compiled.js';

const require = createRequire(import.meta.url);
const asyncHooks = require('node:async_hooks');
const { AsyncLocalStorage } = asyncHooks;
const eventHandlers = Symbol.for('EVENT_HANDLERS'); // jest-circus keeps a file's tests in the handlers
let files = 0;

/** How jest loads what a test file needs: as Node does, once a process, instead of again for every file. */
export default class Runtime {
  #mocker;
  #storages = [];

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
    forget(path);
    return this.#noticingStorages(() => require(path));
  }

  /** Has what is loaded keep its contexts in storages that end with the file. */
  #noticingStorages(load) {
    asyncHooks.AsyncLocalStorage = storageOf(this.#storages);
    try {
      return load();
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    }
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
  /** Lets go of the file's tests, and so of all that they have started. */
  teardown() {
    for (const storage of this.#storages) storage.end();
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol];
    globalThis[eventHandlers] = undefined;
  }
}

/**
 * Until it is disabled, an `AsyncLocalStorage` makes every promise of the process dearer; and what was created in one of
 * its contexts refers to that for good, as a cache does that all files share.
 */
const storageOf = (storages) =>
  class extends AsyncLocalStorage {
    #contexts = [];

    constructor(...options) {
      super(...options);
      storages.push(this);
    }

    run(store, ...work) {
      const context = { store };
      this.#contexts.push(context);
      return super.run(context, ...work);
    }

    getStore() {
      return super.getStore()?.store;
    }

    end() {
      this.disable();
      for (const context of this.#contexts) delete context.store;
    }
  };

/** Forgets a module that was required; whoever required it names it too. */
function forget(path) {
  const { parent } = require.cache[path] ?? {};
  parent?.children.splice(0);
  delete require.cache[path];
}

/** Maps compiled files to their source maps; looked up only when a stack is shown. */
class SourceMaps extends Map {
  get(url) {
    const ours = /^file:.*\.ts(\?|$)/.test(url) && !url.includes('/node_modules/');
    return ours ? compiled(fileURLToPath(url)).mapPath : undefined;
  }
}
