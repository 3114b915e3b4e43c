import type { components } from './schema.js';

type Envelope = components['schemas']['Error']['error'];
/** The codes of the service when this client was generated; newer releases may have others. */
export type ErrorCode = NonNullable<Envelope['code']>;
export type ErrorDetail = NonNullable<Envelope['details']>[number];

/** An error response of the service. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError';

  private constructor(
    message: string,
    readonly status: number,
    /** Null if only the status matters, or if the response came from an intermediary, such as a proxy. */
    readonly code: ErrorCode | null,
    /** What is wrong with the request, by field. */
    readonly details: readonly ErrorDetail[],
    /** Identifies the request in the logs and events of the service. */
    readonly requestId: string | null,
    /** The current resource, if it was changed in the meantime (`version.conflict`). */
    readonly current: unknown,
  ) {
    super(message);
  }

  static async of(response: Response): Promise<GatehouseError> {
    const body = (await response.json().catch(() => null)) as { error?: Partial<Envelope>; data?: unknown } | null;
    const { code = null, message = response.statusText, details = [] } = body?.error ?? {};
    const requestId = response.headers.get('x-request-id');
    return new GatehouseError(message, response.status, code, details, requestId, body?.data);
  }
}
