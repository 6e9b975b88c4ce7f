/** The messages of others that name a person, as `person-count` has them. */
export type Mentions = { names: readonly string[]; messages: number; done: boolean; searchedTo?: number }

/**
 * Whether others name a person, in one sentence that also says how far was searched. `timeText`
 * shows a time (Unix ms).
 */
export function mentionsSentence(
  { names, messages, done, searchedTo }: Mentions,
  timeText: (at: unknown) => string,
): string {
  const named = names.join(' or ')
  if (messages > 0) {
    const [many, have] =
      messages === 1 ? ['1 message', 'has'] : [`${messages.toLocaleString('en')} messages`, 'have']
    return `${many}${done ? '' : ' or more'} of others ${have} ${named} in the text.`
  }
  if (done) return `No message of others has ${named} in its text.`
  return `No message of others since ${timeText(searchedTo)} has ${named} in its text; older ones were not searched.`
}

/** The search for the messages of others with a name of a person, which leaves out their own. */
export function mentionsSearch(names: readonly string[], name: string): string {
  return [quoted(name), ...names.map((own) => `-from:${quoted(own)}`)].join(' ')
}

/** A word of a search, in quotes if it needs them. */
function quoted(word: string): string {
  return /[\s":]|^-/.test(word) ? `"${word.replace(/["\\]/g, '\\$&')}"` : word
}
