/**
 * The filter in the name of a job of dead letters. `letters`: number of individually chosen ones.
 */
type Target = { queue?: unknown; group?: unknown; message?: unknown; job?: unknown; letters?: unknown }

/** The dead letters that a job works on: `dead letters of orders`. */
export function lettersInWords(target: Target): string {
  const { job, letters } = target
  const ofJob = job === undefined ? '' : ` from job ${String(job).slice(-8)}`
  if (letters === undefined)
    return `${placeInWords(target)}${ofJob}`.replace('all dead letters from', 'dead letters from')
  const words = placeInWords(target).replace(/^all /, '')
  return `${letters} ${letters === 1 ? words.replace(/^dead letters/, 'dead letter') : words}${ofJob}`
}

function placeInWords({ queue = '', group, message }: Target): string {
  if (message !== undefined) return `dead letters of message ${String(message).slice(-8)}`
  const [, push] = /^push\/(.+)$/.exec(String(queue)) ?? []
  if (push !== undefined) return `dead letters of the push ${push}`
  if (queue === 'outbox') return `replies that were not delivered${group ? ` by ${group}` : ''}`
  if (group) return `dead letters of ${group}`
  if (queue === 'dispatch') return 'dead letters of all routes'
  return queue ? `dead letters of ${queue}` : 'all dead letters'
}

/** The same for a narrow list: `orders`, `3 of orders`, `all routes`, `push crm`. */
export function lettersInShort(target: Target): string {
  return lettersInWords(target)
    .replace(/^dead letters of (?:the )?/, '')
    .replace(/^(\d+) dead letters? of (?:the )?/, '$1 of ')
}
