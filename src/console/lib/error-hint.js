import { invoke } from './api.js'
import { causeOf } from './cause.js'
import { html } from './html.js'
import { keyedTerms } from './menu-value.js'
import { useLoaded } from './parts.js'
import { link } from './router.js'

/** Minimum length of the words, as a shorter part is in many errors. */
const MIN_LENGTH = 3

/**
 * For a search without a result: words are not searched in errors, so this links to the messages
 * and the dead letters with an error that has them. Other parts of the filter stay, unless nothing
 * matches them.
 */
export function ErrorHint({ filter }) {
  const words = plainWords(filter.search)
  const { value: found } = useLoaded(
    async (signal) => {
      if (words.length < MIN_LENGTH) return { dead: [] }
      let isComplete = true
      // A viewer, or a token of some gateways, may not read all errors.
      const orNothing = (nothing) => () => {
        isComplete = false
        return nothing
      }
      const [messages, dead] = await Promise.all([
        messagesWith(words, filter, signal).catch(orNothing()),
        invoke('dead-letter-groups', { error: words }, signal).catch(orNothing([])),
      ])
      return { messages, dead, isComplete }
    },
    [JSON.stringify(filter)],
  )
  if (words === '' || !found) return null
  const { messages, dead, isComplete } = found
  if (!messages && dead.length === 0)
    return isComplete
      ? html`No message has it in an error. Replies are not searched. `
      : html`Words are not searched in errors and replies. `
  return html`<span class="error-hint">Words are not searched in errors. ${
    messages &&
    html`Messages with this error: <a class="chip" href=${link('messages', messages.filter)}><b>${messages.many.toLocaleString('en')}${messages.isCut && '+'}</b> ${messages.filter.search}</a> `
  }${
    dead.length > 0 &&
    html`Dead letters with this error: ${dead.map(
      ({ queue, group, code, pattern, common, count: many }) =>
        html`<a key=${`${queue} ${group} ${pattern}`} class="chip" href=${link('dead-letters', { queue, group, code, pattern })}><b>${many.toLocaleString('en')}</b> ${group}: <span class="error">${causeOf(common)}</span></a> `,
    )}`
  }</span>`
}

/** How many messages have some words in an error, with the first filter that finds any. */
async function messagesWith(words, { search, ...others }, signal) {
  const error = `error:"${words.replaceAll('\\', '\\\\')}"`
  const keyed = keyedTerms(search).filter(({ key }) => key !== undefined)
  const all = [...keyed.map(({ whole }) => whole), error].join(' ')
  for (const filter of [{ ...others, search: all }, { search: error }]) {
    const { counts, countedTo } = await invoke('message-histogram', { ...filter, buckets: 1 }, signal)
    const many = counts.reduce((sum, each) => sum + each, 0)
    if (many > 0) return { filter, many, isCut: countedTo !== undefined }
  }
  return undefined
}

/** The words of a search without `key:value`, and without quotes. */
function plainWords(search = '') {
  return search
    .replace(/(^|\s)-?[a-z][a-z-]*:("[^"]*"|\S+)/gi, ' ')
    .replaceAll('"', '')
    .trim()
}
