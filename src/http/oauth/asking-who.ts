/** Returns the parameters of an authorization request that lets the person choose who continues, even in a session. */
export function askingWho({ prompt = '', ...others }: Record<string, string>): Record<string, string> {
  const prompts = new Set(prompt.split(' ').filter((each) => each !== ''));
  if (!prompts.has('login')) prompts.add('select_account'); // `login` asks already
  return { ...others, prompt: [...prompts].join(' ') };
}
