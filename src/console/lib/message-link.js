import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { html } from './html.js'
import { Gist } from './parts.js'
import { link } from './router.js'

/** Maximum number of messages kept. */
const MAX_KNOWN = 2_000
/** Maximum characters of a text. */
const MAX_TEXT = 160
/** Time (ms) until a message is loaded again that could not be loaded. */
const RETRY = 3_000
/** Messages by id, as promises of what `Gist` shows. */
const known = new Map()

/** Loads what `Gist` shows of a message. Undefined if the message is no longer stored. */
function gistOf(id) {
  if (known.size > MAX_KNOWN) known.clear()
  if (!known.has(id)) {
    const loading = invoke('message-show', { id }).then(({ message, summary }) => {
      const { subject, text, data, gateway, conversation } = message
      const event = typeof data?.event === 'string' ? data.event : undefined
      // An event of a program names its object, such as an order, as its conversation.
      const object = conversation?.replace(`${gateway}:`, '')
      const about = event && object !== id ? object : undefined
      const rest = about === undefined ? summary : withoutStart(summary, about)
      return { subject: subject ?? about, summary: rest, event, text: text.slice(0, MAX_TEXT) }
    })
    known.set(id, loading)
    loading.catch((error) => error.status !== 404 && known.delete(id))
  }
  return known.get(id).catch(() => undefined)
}

/** The summary of a body without the object that is shown before it, such as `#5012`. */
function withoutStart(summary, object) {
  if (summary === object) return ''
  return summary?.startsWith(`${object} · `) ? summary.slice(object.length + 3) : summary
}

/**
 * A link to a message. Its text is the beginning of the message, or the end of its id while the
 * message is loading or if it is no longer stored.
 */
export function MessageLink({ id }) {
  return html`<a class="message-link" href=${link(['messages', id])} title=${id}><${MessageGist} id=${id} /></a>`
}

/** The text of such a link. */
export function MessageGist({ id }) {
  const [found, setFound] = useState()
  useEffect(() => {
    let isHere = true
    let timer
    const load = async () => {
      const gist = await gistOf(id)
      if (!isHere) return
      if (gist) setFound(gist)
      else if (!known.has(id)) timer = setTimeout(load, RETRY)
    }
    void load()
    return () => {
      isHere = false
      clearTimeout(timer)
    }
  }, [id])
  return found ? html`<${Gist} of=${found} />` : `message …${id.slice(-8)}`
}
