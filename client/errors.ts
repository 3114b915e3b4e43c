import type { components } from './schema.js';

type Envelope = components['schemas']['Error']['error'];
/** The codes that the service had when this client was made; it may have new ones since. */
export type ErrorCode = NonNullable<Envelope['code']>;
export type ErrorDetail = NonNullable<Envelope['details']>[number];

/** A refusal, as the service tells it. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError';

  private constructor(
    message: string,
    readonly status: number,
    /** Null where only the status counts, and where something between here and the service answered. */
    readonly code: ErrorCode | null,
    /** What is wrong with which field of the request. */
    readonly details: readonly ErrorDetail[],
    /** Names the request in the logs and events of the service. */
    readonly requestId: string | null,
    /** The resource as it is now, where it was changed meanwhile (`version.conflict`). */
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
