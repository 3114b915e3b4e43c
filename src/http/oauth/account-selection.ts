/**
 * Returns the parameters with `prompt=select_account`, by which the person chooses who continues, even in a session.
 */
export function withAccountSelection({ prompt = '', ...others }: Record<string, string>): Record<string, string> {
  const prompts = new Set(prompt.split(' ').filter((each) => each !== ''));
  if (!prompts.has('login')) prompts.add('select_account'); // `login` asks already
  return { ...others, prompt: [...prompts].join(' ') };
}
