import type { LightMyRequestResponse } from 'fastify';

/** Returns the code of a refused sign-in by a provider, from its page or from JSON. */
export const refusalIn = ({ body, headers }: LightMyRequestResponse): string =>
  (String(headers['content-type']).includes('json')
    ? JSON.parse(body).error
    : /<dd class="code">(sso\.[a-z_]+)</.exec(body)?.[1]) ?? body;
