import { useEffect, useRef } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useLoaded, Wait } from '../lib/parts.js'
import { Answer } from './answer.js'

/** Number of entries of a conversation that are searched for what its sender wrote last. */
const LAST_ENTRIES = 20

/** The field to answer a conversation, as on its page. `done`: see `Answer`. */
export function AnswerField({ of: { gateway, conversation }, done }) {
  const loaded = useLoaded(
    (signal) => invoke('conversation-show', { gateway, conversation, limit: LAST_ENTRIES }, signal),
    [gateway, conversation],
  )
  const asked = loaded.value?.entries.findLast(({ role }) => role === 'sender')
  const box = useRef()
  useEffect(() => box.current?.querySelector('textarea')?.focus(), [asked?.id])
  return html`<div ref=${box}><${Wait} of=${loaded} what="the conversation" />${asked && html`<${Answer} of=${loaded.value} asked=${asked} done=${done} />`}</div>`
}
