import { type SerializerFactory, SerializerSelector } from '@fastify/fast-json-stringify-compiler';

const selected = SerializerSelector();

/** Fastify's own serializers, each compiled at the first answer that needs it, as validators are at requests. */
export const buildSerializer: SerializerFactory = (externalSchemas, options) => {
  const compile = selected(externalSchemas, options);
  return (route) => {
    let compiled: ReturnType<typeof compile> | undefined;
    return (payload) => {
      compiled ??= compile(route);
      return compiled(payload);
    };
  };
};
