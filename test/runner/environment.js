import { register } from 'node:module';
import { ModuleMocker } from 'jest-mock';

register('./hooks.js', import.meta.url);

/**
 * The environment of a test file: the process itself, with nothing in between. Modules stay loaded from one file to the
 * next; what a file changed of the process is restored.
 */
export default class Environment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  #before = { console: globalThis.console, exit: process.exit, env: { ...process.env } };

  async setup() {}

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    const { console, exit, env } = this.#before;
    globalThis.console = console;
    process.exit = exit;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
}
