import { invoke } from './api.js'
import { causeOf } from './cause.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'
import { link } from './router.js'

/** Maximum number of retrying messages whose errors are read. */
const MAX_RETRYING = 200

/** Minimum length of the words, as a shorter part is in many errors. */
const MIN_LENGTH = 3

/**
 * For a search without a result: the search of messages does not cover errors of attempts, so this
 * links to the retrying messages and the dead letters that have its words in their last error.
 */
export function ErrorHint({ filter: { search } }) {
  const words = plainWords(search)
  const { value: found } = useLoaded(
    async (signal) => {
      if (words.length < MIN_LENGTH) return { retrying: [], dead: [] }
      let isComplete = true
      // A viewer, or a token of some gateways, may not read all errors.
      const orNothing = () => {
        isComplete = false
        return []
      }
      const [retrying, dead] = await Promise.all([
        retryingWith(words, signal).catch(orNothing),
        invoke('dead-letter-groups', { error: words }, signal).catch(orNothing),
      ])
      return { retrying, dead, isComplete }
    },
    [words],
  )
  if (words === '' || !found) return null
  const { retrying, dead, isComplete } = found
  if (retrying.length + dead.length === 0)
    return isComplete
      ? html`No retrying message or dead letter has it in its error. Replies are not searched. `
      : html`Errors and replies are not searched here. `
  return html`<span class="error-hint">Errors are not searched here. ${
    retrying.length > 0 &&
    html`Retrying messages with this error: ${retrying.map(
      ({ route, error, many }) =>
        html`<a key=${`${route} ${error}`} class="chip" href=${link('messages', { search: `status:retrying route:${route}` })}><b>${many.toLocaleString('en')}</b> ${route}: <span class="error">${error}</span></a> `,
    )}`
  }${
    dead.length > 0 &&
    html`Dead letters with this error: ${dead.map(
      ({ queue, group, code, pattern, common, count: many }) =>
        html`<a key=${`${queue} ${group} ${pattern}`} class="chip" href=${link('dead-letters', { queue, group, code, pattern })}><b>${many.toLocaleString('en')}</b> ${group}: <span class="error">${causeOf(common)}</span></a> `,
    )}`
  }</span>`
}

/** The newest retrying messages with some words in their last error, by route and error. */
async function retryingWith(words, signal) {
  const { messages } = await invoke('message-search', { outcome: 'retrying', limit: MAX_RETRYING }, signal)
  if (messages.length === 0) return []
  const attempts = await invoke('message-attempts', { ids: messages.map(({ id }) => id) }, signal)
  const part = words.toLowerCase()
  const failed = attempts.filter(({ error }) => error?.toLowerCase().includes(part))
  const groups = Map.groupBy(failed, ({ route, error }) => `${route} ${error}`)
  return [...groups.values()].map((some) => ({
    route: some[0].route,
    error: causeOf(some[0].error),
    many: some.length,
  }))
}

/** The words of a search without `key:value`, and without quotes. */
function plainWords(search = '') {
  return search
    .replace(/(^|\s)-?[a-z][a-z-]*:("[^"]*"|\S+)/gi, ' ')
    .replaceAll('"', '')
    .trim()
}
