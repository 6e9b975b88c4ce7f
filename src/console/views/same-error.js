import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'

/**
 * A link to all dead letters with the error of one of them. `of`: their queue, group, code and
 * pattern; undefined until they are known.
 */
export function SameError({ of }) {
  const { queue, group, code, pattern } = of ?? {}
  const { value: groups } = useLoaded(
    async (signal) => (of ? invoke('dead-letter-groups', { queue, ...(group && { group }) }, signal) : []),
    [JSON.stringify(of), changes.dead.value],
  )
  const cause = groups?.find((each) => each.code === code && each.pattern === pattern)
  const others = (cause?.count ?? 0) - 1
  if (others < 1) return null
  return html`<a href=${link('dead-letters', { queue, ...(group && { group }), code, pattern })}>${others.toLocaleString('en')} ${others === 1 ? 'other' : 'others'} failed with this error</a>`
}
