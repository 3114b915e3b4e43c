/** What opening a sealed text gives; null for what was sealed by another key, for another context, or by another hand. */
export function openedOrNull(open: () => string): string | null {
  try {
    return open();
  } catch {
    return null;
  }
}
