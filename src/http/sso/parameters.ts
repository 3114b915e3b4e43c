/** Returns a field of a form, a query or a path that was sent once; null otherwise. */
export function textOf(form: unknown, name: string): string | null {
  const value = (form as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
