import { isViewer } from './api.js'
import { later } from './later-file.js'
import { now } from './live.js'
import { act } from './parts.js'
import { go } from './router.js'
import { placeOf, withLocalTimes } from './troubles.js'

/**
 * The problems of Now, found by their titles, texts and by what to do: and by `have`, what
 * takes care of them.
 */
export function problemEntries(text) {
  const troubles = now.value?.troubles ?? []
  const entryOf = ({ title, text, todo }) => ({ name: withLocalTimes(title), more: `${text} ${todo}` })
  const ways = troubles.map((trouble) => {
    const { path, query } = placeOf(trouble)
    return { kind: 'problem', ...entryOf(trouble), things: thingsOf(trouble), run: () => go(path, query) }
  })
  const take = (trouble) => () => act(async () => (await later.fetch()).takeTrouble(trouble))
  const open =
    isViewer.value || !/\bhav/i.test(text) ? [] : troubles.filter(({ acknowledged }) => !acknowledged)
  const acts = open.map((trouble) => {
    const { name, more } = entryOf(trouble)
    return { kind: 'care', name: `I have it: ${name}`, more, run: take(trouble) }
  })
  return [...ways, ...acts]
}

/** The names of what a problem is about. */
function thingsOf({ where: { gateway, skill, subscription, schedule, group } }) {
  return [gateway, skill, subscription, schedule, group].filter(Boolean)
}
