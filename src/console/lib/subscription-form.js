import { useState } from 'preact/hooks'
import { invoke } from './api.js'
import { html } from './html.js'
import { Modal } from './modal.js'
import { Copy, say, useOnce } from './parts.js'
import { readJson } from './schema.js'

const FORMATS = ['event', 'cloudevents', 'cloudevents-binary']

/**
 * A dialog that creates a push subscription, or changes the one of `name`, with the settings that it has. It stays open when the daemon
 * refuses, and shows a generated secret once. `close()` is called when it ends.
 */
export function SubscriptionForm({ name, settings = {}, close }) {
  const before = fieldsOf(settings)
  const [given, setGiven] = useState({ name: '', topic: '', ...before, rotate: false })
  const [error, setError] = useState()
  const [made, setMade] = useState()
  const [isBusy, once] = useOnce()
  const isNew = name === undefined
  const take =
    (key) =>
    ({ target }) =>
      setGiven({ ...given, [key]: target.type === 'checkbox' ? target.checked : target.value })
  const send = async () => {
    try {
      const answer = isNew
        ? await invoke('subscription-create', {
            name: given.name,
            ...topicOf(given),
            ...changesOf(given, before),
          })
        : await invoke('subscription-update', {
            name,
            ...changesOf(given, before),
            ...(given.rotate && { rotateSecret: true }),
          })
      if (answer.secret) return setMade(answer)
      say(isNew ? `${given.name} is there already, with these settings.` : `${name} is changed.`)
      close()
    } catch (failure) {
      setError(failure.message)
    }
  }
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  const text = (key, label, hint, more = {}) =>
    html`<${Text} key=${key} id=${key} label=${label} hint=${hint} value=${given[key]} onInput=${take(key)} more=${more} />`
  return html`<${Modal} aria-labelledby="form-title" leave=${() => (made ? false : close())}>
    ${
      made
        ? html`<${Secret} of=${made} isNew=${isNew} close=${close} />`
        : html`<h2 id="form-title">${isNew ? 'New push subscription' : `Change the push ${name}`}</h2>
    <form onSubmit=${submit}>
      ${isNew && text('name', 'Name', 'Letters, digits and dashes.', { required: true })}
      ${text('url', 'URL', isNew ? 'Events are sent here by POST.' : 'What follows a ? is not shown; it stays unless you change the URL.', { required: true, inputmode: 'url' })}
      ${isNew && text('topic', 'Topic', '', { placeholder: 'gateway-message' })}
      ${text('match', 'Only events that match', 'As JSON, with the keys of a route. Empty: all events.', { placeholder: '{ "gateway": "support" }' })}
      ${text('rate', 'Maximum rate', 'Empty: no limit.', { placeholder: '10/s' })}
      <div class="field"><label for="push-format">Format</label><select id="push-format" value=${given.format} onChange=${take('format')}>${FORMATS.map((format) => html`<option key=${format} value=${format}>${format}</option>`)}</select></div>
      <label class="check"><input type="checkbox" checked=${given.allowPrivate} onChange=${take('allowPrivate')} /> Allow private addresses and plain http</label>
      ${!isNew && html`<label class="check"><input type="checkbox" checked=${given.rotate} onChange=${take('rotate')} /> Generate a new secret; the old one stays valid next to it</label>`}
      <p class="error" role="alert">${error}</p>
      <div class="buttons"><button type="button" onClick=${close}>Cancel</button>
        <button type="submit" class="primary" disabled=${isBusy}>${isNew ? 'Create' : 'Save'}</button></div>
    </form>`
    }
  <//>`
}

function Text({ id, label, hint, value, onInput, more }) {
  return html`<div class="field"><label for=${`push-${id}`}>${label}</label>
    <input id=${`push-${id}`} autocomplete="off" spellcheck=${false} aria-describedby=${`push-${id}-hint`} value=${value} onInput=${onInput} ...${more} />
    <p class="hint" id=${`push-${id}-hint`}>${hint}</p></div>`
}

function Secret({ of: { name, secret }, isNew, close }) {
  return html`<h2 id="form-title">${isNew ? `${name} is created` : `${name} has a new secret`}</h2>
    <p>This is its signing secret. Copy it now: it is not shown again.</p>
    <pre tabindex="0" aria-label="Signing secret">${secret}</pre>
    <div class="buttons"><${Copy} text=${secret} /><button type="button" class="primary" onClick=${close}>Done</button></div>`
}

function fieldsOf({ url = '', match, rate = '', format = 'event', allowPrivate = false }) {
  return { url, match: match ? JSON.stringify(match) : '', rate, format, allowPrivate }
}

function topicOf({ topic }) {
  return topic.trim() === '' ? {} : { topic: topic.trim() }
}

/** What differs from `before`, as the operation takes it; null removes a setting. */
function changesOf(given, before) {
  const changed = Object.keys(before).filter((key) => given[key] !== before[key])
  return Object.fromEntries(changed.map((key) => [key, settingOf(key, given[key])]))
}

function settingOf(key, value) {
  if (typeof value === 'boolean') return value
  if (value.trim() === '' && key !== 'url') return null
  if (key !== 'match') return value.trim()
  try {
    return readJson(value, 'object')
  } catch (error) {
    throw new Error(`Only events that match: ${error.message}`)
  }
}
