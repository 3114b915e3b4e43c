/** Returns the name that was typed for a factor, cut to what a list can show; null for none. */
export function factorLabel(typed: string | null | undefined): string | null {
  const shown = [...(typed ?? '').replace(/\p{C}/gu, ' ').trim()].slice(0, 100).join('').trim();
  return shown === '' ? null : shown;
}
