/** The parameters of an authorization request that has somebody choose who goes on, whatever session there is. */
export function askingWho({ prompt = '', ...others }: Record<string, string>): Record<string, string> {
  const prompts = new Set(prompt.split(' ').filter((each) => each !== ''));
  if (!prompts.has('login')) prompts.add('select_account'); // `login` asks already
  return { ...others, prompt: [...prompts].join(' ') };
}
