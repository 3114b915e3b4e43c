/** The length of the shortest permitted password; shorter entries of the list are never needed. */
const minLength = 8;

let list: Promise<ReadonlySet<string>> | undefined;

/** Whether the bundled list of common passwords has it, in any case. */
export async function isCommon(password: string): Promise<boolean> {
  list ??= load();
  return (await list).has(password.toLowerCase());
}

// Loaded at the first use: a process that reaches the range API never needs its megabytes.
async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].filter((entry) => entry.length >= minLength));
}
