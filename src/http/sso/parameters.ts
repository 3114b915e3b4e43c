const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isUuid = (text: string | null): text is string => text !== null && uuid.test(text);

/** A field of a form, a query or a path that is there once. */
export function textOf(form: unknown, name: string): string | null {
  const value = (form as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
