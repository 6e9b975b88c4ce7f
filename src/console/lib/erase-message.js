import { signal } from '@preact/signals'
import { invoke } from './api.js'
import { html } from './html.js'
import { KeptRows, OpenGoes } from './kept-rows.js'
import { act, ask, Badge, Loading, Problem } from './parts.js'
import { go } from './router.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** Asks with what goes and what stays, then erases one message as a job, and shows the job. */
export async function eraseMessage(id) {
  const found = signal({})
  const isReady = signal(false)
  // Without `confirm`, it only counts.
  invoke('message-erase', { id }).then(
    (value) => {
      found.value = { value }
      isReady.value = value.total > 0
    },
    (error) => {
      found.value = { error }
    },
  )
  const body = html`<${Consequences} found=${found} />`
  const question = { title: 'Erase this message?', body, action: 'Erase', danger: true, isReady }
  if (!(await ask(question))) return
  await act(async () => {
    const { job } = await invoke('message-erase', { id, confirm: true })
    startedJobs.value++
    go(['jobs', job.id])
    return 'Erasing has begun. You may close this page.'
  })
}

function Consequences({ found }) {
  const { value, error } = found.value
  if (error) return html`<${Problem} error=${error} />`
  if (!value) return html`<${Loading} />`
  const places = Object.entries(value.counts).filter(([, many]) => many > 0)
  return html`<p><${Badge} kind="bad">cannot be undone<//> ${count(value.total, 'record')} in ${count(places.length, 'place')}:</p>
    <table class="kept" aria-label="What is erased"><tbody><${KeptRows} of=${value} /></tbody></table>
    <${OpenGoes} of=${value} />
    <p>These stay: the other messages of its sender and conversation, what belongs to the conversation if others wrote there, and backups, logs and copies that others have received. The audit log notes that you erased a message. If it waits, it is not dispatched.</p>`
}
