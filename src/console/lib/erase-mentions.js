import { computed, signal } from '@preact/signals'
import { invoke } from './api.js'
import { html } from './html.js'
import { Age, act, ask, Badge, Gist, Loading, Problem } from './parts.js'
import { isNoReference, keepReference, Reference, referenceOf } from './request-reference.js'
import { go, link } from './router.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'
import { TypeToConfirm } from './type-to-confirm.js'

/**
 * Lists the messages of others that name a person (`who`), to select those that are erased as a job
 * after one confirmation.
 */
export async function eraseMentions(who) {
  const [found, chosen, typed] = [signal({}), signal(new Set()), signal('')]
  const reference = signal(referenceOf(who))
  // Without `confirm`, it only lists and counts.
  invoke('message-erase', { naming: who }).then(
    (value) => {
      chosen.value = new Set(value.found.map(({ id }) => id))
      found.value = { value }
    },
    (error) => {
      found.value = { error }
    },
  )
  const isRefused = computed(() => isNoReference(reference.value))
  const missing = computed(() => {
    if (isRefused.value) return 'Correct the number of the request.'
    const many = chosen.value.size
    if (many === 0) return 'Select what is erased.'
    return typed.value === String(many) ? undefined : `Type ${many} to erase.`
  })
  const isReady = computed(() => missing.value === undefined)
  const body = html`<${Choice} ...${{ found, chosen, typed }} /><${Reference} value=${reference} isRefused=${isRefused} />`
  const question = {
    title: 'Erase messages of others?',
    body,
    action: 'Erase',
    danger: true,
    isReady,
    missing,
  }
  if (!(await ask(question))) return
  await act(async () => {
    const id = [...chosen.value]
    keepReference(who, reference.value)
    const { job } = await invoke('message-erase', {
      id,
      confirm: true,
      ...(reference.value && { reference: reference.value }),
    })
    startedJobs.value++
    go(['jobs', job.id])
    return 'Erasing has begun. You may close this page.'
  })
}

function Choice({ found, chosen, typed }) {
  const { value, error } = found.value
  if (error) return html`<${Problem} error=${error} />`
  if (!value) return html`<${Loading} />`
  const all = value.found.map(({ id }) => id)
  const isAll = chosen.value.size === all.length
  const set = (ids) => {
    chosen.value = new Set(ids)
  }
  const toggle = (id) =>
    set(
      chosen.value.has(id)
        ? all.filter((each) => each !== id && chosen.value.has(each))
        : [...chosen.value, id],
    )
  return html`<p><${Badge} kind="bad">cannot be undone<//> ${count(chosen.value.size, 'message')} with ${chosen.value.size === 1 ? 'its' : 'their'} answers and history. What is about other people in ${chosen.value.size === 1 ? 'it' : 'them'} goes, too.</p>
    <div class="scrolls choice" tabindex="0" role="region" aria-label="Messages of others"><ul class="plain">
      ${all.length > 1 && html`<li><label><input type="checkbox" checked=${isAll} onChange=${() => set(isAll ? [] : all)} /> <b>All ${all.length.toLocaleString('en')}</b></label></li>`}
      ${value.found.map((each) => html`<li key=${each.id}><label><input type="checkbox" checked=${chosen.value.has(each.id)} onChange=${() => toggle(each.id)} /> <span><${Gist} of=${each} /> <span class="dim">${each.gateway}, <${Age} at=${each.at} /> ago</span></span></label> <a href=${link(['messages', each.id])} target="_blank">Open</a></li>`)}
    </ul></div>
    ${!value.mentions.done && html`<p class="warn-text">There may be older ones: look again when these are erased.</p>`}
    <${TypeToConfirm} what="messages" answers=${[String(chosen.value.size)]} typed=${typed} />`
}
