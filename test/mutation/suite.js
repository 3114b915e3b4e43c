import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'expect';
import { bind } from 'jest-each';
import { ModuleMocker } from 'jest-mock';

const mocker = new ModuleMocker(globalThis);
let loads = 0;

/**
 * Loads the tests of a file, to run them one by one, in any order and any number of times: what it sets up, while it
 * loads or in `beforeAll`, stays up between them. It supports what our tests use of jest.
 * @param {string} file of the tests
 * @param {string[]} setupFiles run before it, as jest's `setupFilesAfterEnv`
 */
export async function loadSuite(file, setupFiles) {
  const suite = new Suite(file, setupFiles);
  await suite.load();
  return suite;
}

class Suite {
  /** @type {{ id: string, name: string, block: Block, fn: () => unknown }[]} */
  tests = [];
  #setupFiles;
  #root;
  #current;
  #up = [];
  #isLoaded = false;

  constructor(file, setupFiles) {
    this.file = file;
    this.setUpId = `${file}#set-up`;
    this.#setupFiles = setupFiles;
  }

  /** Loads the file, and loads it again after `tearDown`, which has ended what the file had set up while it loaded. */
  async load() {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this.tests = [];
    this.#root = newBlock(null, '');
    this.#current = this.#root;
    this.provideGlobals();
    loads++;
    try {
      for (const path of [...this.#setupFiles, this.file]) {
        const url = pathToFileURL(resolve(path));
        url.searchParams.set('file', String(loads));
        await import(url.href);
      }
    } catch (error) {
      await this.tearDown();
      throw error;
    }
  }

  /** Sets up what is not set up yet: each hook runs once, outer ones first. */
  async setUp() {
    await this.load();
    for (const { block } of this.tests) await this.#raise(block);
  }

  /**
   * Runs a test, which has the same id whenever the file is loaded.
   * @throws what the test or one of its hooks throws
   */
  async run({ id }) {
    await this.load();
    const { block, fn } = this.tests.find((test) => test.id === id);
    await this.#raise(block);
    const blocks = pathTo(block);
    try {
      for (const each of blocks) await all(each.beforeEach);
      await fn();
    } finally {
      for (const each of blocks.toReversed()) await all(each.afterEach);
    }
  }

  /** Ends what is set up. The file's own `afterAll` runs even if no test has run: the file has set up while it loaded. */
  async tearDown() {
    if (!this.#isLoaded) return;
    this.#isLoaded = false;
    const inner = this.#up.splice(0).filter((block) => block !== this.#root);
    for (const block of [...inner.toReversed(), this.#root]) {
      for (const hook of block.afterAll)
        await Promise.resolve()
          .then(hook)
          .catch(() => {});
    }
    mocker.restoreAllMocks();
  }

  async #raise(block) {
    for (const each of pathTo(block)) {
      if (each.isUp) continue;
      each.isUp = true;
      this.#up.push(each);
      await all(each.beforeAll);
    }
  }

  /** Defines the globals that a test file uses while it loads, which register its tests. */
  provideGlobals() {
    const test = (name, fn) => {
      const path = pathTo(this.#current).map((each) => each.name);
      // By its position: a name may contain a seed, which differs in the next process.
      const id = `${this.file}#${this.tests.length}`;
      this.tests.push({ id, name: [...path, name].filter(Boolean).join(' '), block: this.#current, fn });
    };
    const describe = (name, fn) => {
      const outer = this.#current;
      this.#current = newBlock(outer, name);
      fn();
      this.#current = outer;
    };
    test.each = bind(test, false);
    test.concurrent = test;
    describe.each = bind(describe, false);
    const hook = (kind) => (fn) => void this.#current[kind].push(fn);
    Object.assign(globalThis, {
      test,
      it: test,
      describe,
      expect,
      beforeAll: hook('beforeAll'),
      afterAll: hook('afterAll'),
      beforeEach: hook('beforeEach'),
      afterEach: hook('afterEach'),
      jest: {
        fn: mocker.fn.bind(mocker),
        spyOn: mocker.spyOn.bind(mocker),
        restoreAllMocks: () => mocker.restoreAllMocks(),
      },
    });
  }
}

const newBlock = (parent, name) => ({
  parent,
  name,
  isUp: false,
  beforeAll: [],
  beforeEach: [],
  afterEach: [],
  afterAll: [],
});

const pathTo = (block) => (block ? [...pathTo(block.parent), block] : []);

async function all(hooks) {
  for (const hook of hooks) await hook();
}
