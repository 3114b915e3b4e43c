import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyPluginOptions } from 'fastify';

const displayName = Symbol.for('fastify.display-name');

/**
 * Registers plugins one after the other, each in a context of its own, and named after its function. For a plugin
 * without a name, Fastify searches all modules that were ever loaded, twice: a quarter of the time for composing an api.
 */
export async function registerEach<O extends FastifyPluginOptions>(
  app: Pick<FastifyInstance, 'register'>,
  plugins: readonly FastifyPluginAsyncTypebox<NoInfer<O>>[],
  options: O,
): Promise<void> {
  for (const plugin of plugins)
    await app.register(Object.assign(plugin, { [displayName]: plugin.name || 'routes' }), options);
}
