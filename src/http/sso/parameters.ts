/** A field of a form, a query or a path that is there once. */
export function textOf(form: unknown, name: string): string | null {
  const value = (form as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
