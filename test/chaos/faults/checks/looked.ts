export type Looked = [what: string, count: number][];
