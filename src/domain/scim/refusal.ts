/** The reason for refusing a SCIM request: a `scimType` of RFC 7644 §3.12, or a name for what has none there. */
export type ScimRefusalKind =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness'
  | 'forbidden'
  | 'notFound'
  | 'notImplemented'
  | 'versionMismatch';

export class ScimRefused extends Error {
  constructor(
    readonly kind: ScimRefusalKind,
    readonly detail: string,
  ) {
    super(detail);
  }
}
