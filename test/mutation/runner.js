import { register } from 'node:module';
import 'reflect-metadata';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import { DryRunStatus, MutantRunStatus, TestStatus } from '@stryker-mutator/api/test-runner';
import { loadSuite } from './suite.js';

/** A test that takes so much longer than without a mutant waits for something that the mutant prevents. */
const longestOf = (usualMs) => 10_000 + 20 * usualMs;
globalThis.__stryker__ ??= {}; // where Stryker's instrumented code looks for the active mutant
const setupFiles = ['test/support/conformance-setup.ts'];

/**
 * Runs the tests that reach a mutant in this process, until one notices (docs/decisions/0048). What a file's tests
 * share, such as an api with its database, stays up from mutant to mutant: so a test that notices runs again without
 * the mutant, and counts only if it passes then. A file whose test fails then gets a new set-up, and the mutant another
 * try.
 */
class InProcessRunner {
  static inject = tokens(commonTokens.logger, commonTokens.options);
  #context = globalThis.__stryker__;
  #suites = new Map();
  /** How long each test takes without a mutant, and how many mutants of a source file it noticed. */
  #took = new Map();
  #noticed = new Map();

  constructor(log, options) {
    this.log = log;
    this.files = options.tests;
  }

  /** Modules stay loaded: Stryker starts a new process for mutants of code that runs while they load. */
  capabilities() {
    return { reloadEnvironment: false };
  }

  init() {
    register('../runner/hooks.js', import.meta.url);
  }

  async dryRun() {
    const results = [];
    for (const file of this.files) {
      this.#context.currentTestId = undefined;
      const suite = await this.#suite(file);
      this.#context.currentTestId = suite.setUpId;
      const raised = await timed(() => suite.setUp());
      results.push(resultOf({ id: suite.setUpId, name: 'set-up', file }, raised));
      for (const test of suite.tests) {
        this.#context.currentTestId = test.id;
        const ran = await timed(() => suite.run(test));
        this.#took.set(test.id, ran.ms);
        results.push(resultOf({ ...test, file }, ran));
      }
      this.#context.currentTestId = undefined;
      await suite.tearDown();
    }
    return { status: DryRunStatus.Complete, tests: results, mutantCoverage: this.#context.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, mutantActivation, hitLimit }) {
    const isStatic = mutantActivation === 'static';
    if (isStatic) this.#context.activeMutant = activeMutant.id; // active while modules load
    const suites = await this.#suitesOf(testFilter).catch((error) => ({ error }));
    if (suites.error) return { status: MutantRunStatus.Error, errorMessage: String(suites.error) };
    const asked = this.#inOrder(suites, testFilter, activeMutant.fileName);
    let nrOfTests = 0;
    for (const { suite, test } of asked) {
      nrOfTests++;
      const found = await this.#ask(suite, test, { mutant: activeMutant, hitLimit, isStatic });
      if (found) return { ...found, nrOfTests };
    }
    // For mutants that only a start shows: all files' tests from the start if only set-ups reach it, otherwise one
    // file's, which noticed most of this source or has most tests.
    const raised = suites.filter((suite) => !testFilter || testFilter.includes(suite.setUpId));
    const noticed = ({ tests }) => tests.reduce((sum, { id }) => sum + this.#countOf(activeMutant.fileName, id), 0);
    const likely = raised.toSorted((a, b) => noticed(b) - noticed(a) || b.tests.length - a.tests.length);
    for (const suite of isStatic ? [] : likely.slice(0, asked.length > 0 ? 1 : likely.length)) {
      const failed = await this.#askFromStart(suite, { mutant: activeMutant, hitLimit });
      if (failed) return failed;
    }
    return { status: MutantRunStatus.Survived, nrOfTests };
  }

  async #ask(suite, test, { mutant, hitLimit, isStatic }) {
    for (let tries = 0; tries < 3; tries++) {
      if (!isStatic) {
        const up = await timed(() => suite.setUp());
        if (up.error) throw up.error;
      }
      const ran = await this.#under({ mutant, hitLimit }, longestOf(this.#took.get(test.id) ?? 0), () =>
        suite.run(test),
      );
      if (!ran.error) return null;
      if (ran.isTimeout) {
        await suite.tearDown();
        return { status: MutantRunStatus.Timeout, reason: ran.error.message };
      }
      if (isStatic) return killed(test.id, ran); // its process ends with it
      const again = await timed(() => suite.run(test));
      if (!again.error) {
        this.#count(mutant.fileName, test.id);
        return killed(test.id, ran);
      }
      await suite.tearDown();
      if (tries > 0) {
        // It failed from a new set-up too: because of the mutant, if it passes with another one.
        const fresh = await timed(() => suite.run(test));
        if (!fresh.error) return killed(test.id, ran);
        this.log.warn('fails without a mutant: %s: %s', test.id, fresh.error.message);
        await suite.tearDown();
        return null;
      }
    }
    return null;
  }

  async #askFromStart(suite, { mutant, hitLimit }) {
    await suite.tearDown();
    const usual = suite.tests.reduce((sum, { id }) => sum + (this.#took.get(id) ?? 0), 0);
    const ran = await this.#under({ mutant, hitLimit }, longestOf(usual), async () => {
      await suite.setUp();
      for (const test of suite.tests) {
        try {
          await suite.run(test);
        } catch (error) {
          error.test = test;
          throw error;
        }
      }
    });
    await suite.tearDown();
    if (!ran.error) return null;
    if (ran.isTimeout) return { status: MutantRunStatus.Timeout, reason: ran.error.message };
    const again = await timed(async () => {
      await suite.setUp();
      if (ran.error.test) await suite.run(ran.error.test);
    });
    if (!again.error) return { ...killed(ran.error.test?.id ?? suite.setUpId, ran), nrOfTests: suite.tests.length };
    this.log.warn('fails from the start without a mutant: %s', again.error.message);
    await suite.tearDown();
    return null;
  }

  async #under({ mutant, hitLimit }, limit, work) {
    Object.assign(this.#context, { activeMutant: mutant.id, hitCount: hitLimit ? 0 : undefined, hitLimit });
    const ran = await timed(work, limit);
    const { hitCount } = this.#context;
    Object.assign(this.#context, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined });
    const isEndless = hitCount > hitLimit;
    return isEndless ? { ...ran, isTimeout: true, error: ran.error ?? new Error('an endless loop') } : ran;
  }

  /** Orders tests: those that noticed most of the same source file first, then the quickest. */
  #inOrder(suites, testFilter, source) {
    const asked = suites.flatMap((suite) => suite.tests.map((test) => ({ suite, test })));
    const reaching = testFilter ? asked.filter(({ test }) => testFilter.includes(test.id)) : asked;
    const by = ({ test: { id } }) => [-this.#countOf(source, id), this.#took.get(id) ?? 0];
    return reaching.toSorted((a, b) => by(a)[0] - by(b)[0] || by(a)[1] - by(b)[1]);
  }

  #count(source, id) {
    const counts = this.#noticed.get(source) ?? new Map();
    this.#noticed.set(source, counts.set(id, (counts.get(id) ?? 0) + 1));
  }

  #countOf(source, id) {
    return this.#noticed.get(source)?.get(id) ?? 0;
  }

  async #suitesOf(testFilter) {
    const files = testFilter
      ? this.files.filter((file) => testFilter.some((id) => id.startsWith(`${file}#`)))
      : this.files;
    const suites = [];
    for (const file of files) suites.push(await this.#suite(file));
    return suites;
  }

  async #suite(file) {
    const known = this.#suites.get(file);
    if (known) return known;
    const suite = await loadSuite(file, setupFiles);
    this.#suites.set(file, suite);
    return suite;
  }

  async dispose() {
    for (const suite of this.#suites.values()) await suite.tearDown();
  }
}

const killed = (id, { error }) => ({
  status: MutantRunStatus.Killed,
  killedBy: [id],
  failureMessage: String(error?.message ?? error),
});

async function timed(work, limit) {
  const from = performance.now();
  let timer;
  const late = new Promise((resolve) => {
    if (limit) timer = setTimeout(resolve, limit, { error: new Error(`longer than ${limit} ms`), isTimeout: true });
  });
  const done = (async () => work())().then(
    () => ({}),
    (error) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
  );
  const ended = await Promise.race(limit ? [done, late] : [done]);
  clearTimeout(timer);
  return { ...ended, ms: performance.now() - from };
}

const resultOf = ({ id, name, file }, { ms, error }) => ({
  id,
  name: `${file} › ${name}`,
  fileName: file,
  timeSpentMs: ms,
  ...(error ? { status: TestStatus.Failed, failureMessage: error.stack } : { status: TestStatus.Success }),
});

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessRunner)];
export const strykerValidationSchema = {
  properties: { tests: { type: 'array', items: { type: 'string' } } },
};
