/** The input of an operation. */
export interface Sent {
  path?: Record<string, string>;
  /** Replace those of the place. */
  slugs?: { appSlug?: string; envSlug?: string };
  query?: Record<string, string>;
  body?: object;
  /** The row whose version the If-Match names. */
  version?: { table: string; id: string; key?: string };
}
