import {
  type DocumentedOperation,
  type DocumentedParameter,
  type DocumentedResponse,
  isReference,
  json,
  type Schema,
} from './document.js';
import { exampleId } from './example-texts.js';

const header = (description: string, type: string, example: unknown) => ({ description, schema: { type }, example });

/** Headers of responses. */
export const headerComponents = {
  ETag: header('The version of the resource, for `If-Match`.', 'string', '"7"'),
  'Idempotency-Replayed': header(
    '`true` if this is the stored first response to this Idempotency-Key.',
    'string',
    'true',
  ),
  Link: header(
    'The next page of a list: the same request, with a cursor if the list is sorted by age (RFC 8288). Absent on the ' +
      'last page.',
    'string',
    '</api/v1/identities?take=100&page=2&after=AAZEU43OTE4Bk20vWxx-Sp8-K4xtGk5w>; rel="next"',
  ),
  RateLimit: header(
    'What is left of a limit that applies to this request, and the seconds until it is fully available again.',
    'string',
    '"admin-login";r=3;t=540',
  ),
  'RateLimit-Policy': header('The limit: its quota, and its window in seconds.', 'string', '"admin-login";q=5;w=900'),
  'Retry-After': header('Seconds to wait before the next attempt.', 'integer', 5),
  'WWW-Authenticate': header('How to authenticate.', 'string', 'Bearer'),
  'X-Request-Id': header(
    'Identifies the request in logs and events. A UUID sent by the client is kept; below `/access/v1`, any value sent by ' +
      'the client is returned.',
    'string',
    exampleId,
  ),
};

/** Headers of requests, by the name that @fastify/swagger writes. */
export const parameterComponents: Record<string, DocumentedParameter> = {
  'idempotency-key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A retry with the same key gets the first response again; kept for 24 hours. 1 to 255 visible ASCII characters. The ' +
      'body is compared as JSON, regardless of the order of members, and `If-Match` by its version. A request that is refused ' +
      'before it is carried out (because of its credentials or its form) does not use up the key, and can be corrected and ' +
      'sent again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    example: '5f0c3b9e-6a51-4f0e-8d27-1c9b7e2a4d63',
  },
  'if-match': {
    name: 'If-Match',
    in: 'header',
    required: true,
    description: 'The version that was read, `"7"` or `7`; also `W/"7"`, as compressing proxies send it.',
    schema: { type: 'string', pattern: '^((W/)?"[0-9]{1,9}"|[0-9]{1,9})$' },
    example: '"7"',
  },
};

/** Replaces the routes' own declarations of shared parameters by references. */
export function shareParameters(operation: DocumentedOperation): void {
  operation.parameters = operation.parameters?.map((parameter) => {
    const isShared = !isReference(parameter) && parameter.in === 'header' && parameter.name in parameterComponents;
    return isShared ? { $ref: `#/components/parameters/${parameter.name}` } : parameter;
  });
}

/** Adds the headers that a response with this status and schema may have. */
export function addHeaders(status: string, response: DocumentedResponse, takesKeys: boolean): void {
  const schema = response.content?.[json]?.schema as Schema | undefined;
  const names: (keyof typeof headerComponents)[] = ['X-Request-Id'];
  if (schema?.properties?.data?.properties?.version && status < '400') names.push('ETag');
  if (schema?.properties?.pagination) names.push('Link');
  if (takesKeys && status < '400') names.push('Idempotency-Replayed');
  if (status === '401') names.push('WWW-Authenticate');
  if (status === '429' || status === '503') names.push('Retry-After');
  if (status === '429') names.push('RateLimit', 'RateLimit-Policy');
  response.headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
