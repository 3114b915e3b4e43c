export interface MasterKey {
  id: string;
  key: Buffer;
}

/** Parses `id:base64[,id:base64]`. @throws Error whose text is meant to follow the setting's name */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = text.split(',').map((part) => {
    const match = /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(part);
    const key = Buffer.from(match?.[2] ?? '', 'base64');
    if (!match || key.length !== 32) throw new Error('must be id:base64[,id:base64] with 32 bytes each');
    return { id: match[1] as string, key };
  });
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) throw new Error('names a key id twice');
  return keys;
}
