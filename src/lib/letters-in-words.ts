/** The filter of a job of dead letters that its name shows. */
type Target = { queue?: unknown; group?: unknown; message?: unknown }

/** The dead letters that a job works on: `dead letters of the route orders`. */
export function lettersInWords({ queue = '', group, message }: Target): string {
  if (message !== undefined) return `dead letters of message ${String(message).slice(-8)}`
  const [, push] = /^push\/(.+)$/.exec(String(queue)) ?? []
  if (push !== undefined) return `dead letters of the push ${push}`
  if (queue === 'outbox') return `replies that were not delivered${group ? ` by ${group}` : ''}`
  if (group) return `dead letters of ${queue === 'dispatch' ? 'the route ' : ''}${group}`
  if (queue === 'dispatch') return 'dead letters of all routes'
  return queue ? `dead letters of ${queue}` : 'all dead letters'
}

/** The same for a narrow list: `orders`, `all routes`, `push crm`. */
export function lettersInShort(target: Target): string {
  return lettersInWords(target).replace(/^dead letters of (?:the route |the )?/, '')
}
