import { useEffect, useRef, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { html } from './html.js'
import { Modal } from './modal.js'
import { Copy, say, useOnce } from './parts.js'
import { errorsByField } from './schema.js'
import { changesOf, fieldsOf } from './subscription-settings.js'

const FORMATS = ['event', 'cloudevents', 'cloudevents-binary']

/**
 * A dialog to create a push subscription, or to change the subscription `name` with its settings.
 * Stays open if the daemon refuses, and shows a generated secret once. `close()`: called at the
 * end.
 */
export function SubscriptionForm({ name, settings = {}, close }) {
  const [given, setGiven] = useState({ name: '', topic: '', ...fieldsOf(settings), rotate: false })
  const [error, setError] = useState()
  const [errors, setErrors] = useState({})
  const [made, setMade] = useState()
  const [isBusy, once] = useOnce()
  const isNew = name === undefined
  const take =
    (key) =>
    ({ target }) =>
      setGiven({ ...given, [key]: target.type === 'checkbox' ? target.checked : target.value })
  const send = async () => {
    setErrors({})
    setError(undefined)
    try {
      const answer = isNew
        ? await invoke('subscription-create', {
            name: given.name,
            ...topicOf(given),
            ...changesOf(given, settings),
          })
        : await invoke('subscription-update', {
            name,
            ...changesOf(given, settings),
            ...(given.rotate && { rotateSecret: true }),
          })
      if (answer.secret) return setMade(answer)
      say(doneText(answer, isNew))
      close()
    } catch (failure) {
      const found = errorsByField(Object.keys(given), {
        details: failure.details ?? [],
        message: failure.message,
      })
      setErrors(found)
      setError(found[''])
    }
  }
  // The first wrong field may be in a part of the dialog that is closed.
  const form = useRef()
  useEffect(() => {
    const wrong = form.current?.querySelector('[aria-invalid="true"]')
    const part = wrong?.closest('details')
    if (part) part.open = true
    wrong?.focus()
  }, [errors])
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  const text = (key, label, hint, more = {}) =>
    html`<${Text} key=${key} id=${key} label=${label} hint=${hint} error=${errors[key]} value=${given[key]} onInput=${take(key)} more=${more} />`
  const isGiven = (...keys) =>
    Object.keys(given).some((key) => keys.includes(key.split('.')[0]) && given[key])
  // The secret is shown once, so Escape does not close it.
  return html`<${Modal} aria-labelledby="form-title" leave=${() => (made ? false : close())}>
    ${
      made
        ? html`<${Secret} of=${made} isNew=${isNew} close=${close} />`
        : html`<h2 id="form-title">${isNew ? 'New push subscription' : `Change the push ${name}`}</h2>
    <form ref=${form} noValidate onSubmit=${submit}>
      ${isNew && text('name', 'Name', 'Letters, digits and dashes.', { required: true })}
      ${text('url', 'URL', isNew ? 'Events are sent here by POST.' : 'The part after ? is hidden; it is kept unless you change the URL.', { required: true, inputmode: 'url' })}
      ${isNew && text('topic', 'Topic', '', { placeholder: 'gateway-message' })}
      ${text('match', 'Only events that match', 'As JSON, with the match keys of a route. Empty: all events.', { placeholder: '{ "gateway": "support" }' })}
      <label class="check"><input type="checkbox" checked=${given.allowPrivate} onChange=${take('allowPrivate')} /> Allow private addresses and plain http</label>
      ${!isNew && html`<label class="check"><input type="checkbox" checked=${given.rotate} onChange=${take('rotate')} /> Generate a new secret; the old one stays valid next to it</label>`}
      <${Delivery} text=${text} given=${given} take=${take} isOpen=${isGiven('rate', 'concurrency', 'timeout', 'retry')} />
      <${Authentication} text=${text} isNew=${isNew} isOpen=${isGiven('headers', 'oauth', 'tls')} />
      <p class="error" role="alert">${error}</p>
      <div class="buttons"><button type="button" onClick=${close}>Cancel</button>
        <button type="submit" class="primary" aria-disabled=${isBusy}>${isNew ? 'Create' : 'Save'}</button></div>
    </form>`
    }
  <//>`
}

function doneText({ name, created }, isNew) {
  if (!isNew) return `${name} is changed.`
  return created ? `${name} is created.` : `${name} is there already, with these settings.`
}

/** The settings of the delivery. */
function Delivery({ text, given, take, isOpen }) {
  // Only at the start: typing must not close it.
  const [wasOpen] = useState(isOpen)
  return html`<details open=${wasOpen}><summary>Delivery: format, rate, retries</summary>
    <div class="field"><label for="push-format">Format</label><select id="push-format" value=${given.format} onChange=${take('format')}>${FORMATS.map((format) => html`<option key=${format} value=${format}>${format}</option>`)}</select></div>
    ${text('rate', 'Maximum rate', 'Empty: no limit.', { placeholder: '10/s' })}
    ${text('concurrency', 'Conversations in parallel', '1 sends one event at a time.', { placeholder: '16', type: 'number', min: 1, max: 256 })}
    ${text('timeout', 'Timeout', 'How long to wait for the answer.', { placeholder: '15s' })}
    ${text('retry.attempts', 'Attempts', 'After the last one, the event is a dead letter.', { placeholder: '300', type: 'number', min: 1, max: 1000 })}
    ${text('retry.delay', 'Delay before the second attempt', 'It doubles each time.', { placeholder: '5s' })}
    ${text('retry.maxDelay', 'Longest delay', '', { placeholder: '15m' })}
  </details>`
}

const PEM = { placeholder: '-----BEGIN …', lines: 3 }

/** The settings by which the receiver recognises the sender. */
function Authentication({ text, isNew, isOpen }) {
  // Only at the start: typing must not close it.
  const [wasOpen] = useState(isOpen)
  return html`<details open=${wasOpen}><summary>Authentication: secret, headers, OAuth, client certificate</summary>
    ${text('secret', 'Signing secret', isNew ? 'Empty: one is generated and shown once.' : 'Empty: it stays as it is.', { placeholder: 'whsec_…' })}
    ${text('headers', 'Headers', 'One per line. Their values are not shown later.', { placeholder: 'authorization: Bearer …', lines: 2 })}
    <fieldset><legend>OAuth 2.0 client credentials</legend>
      ${text('oauth.tokenUrl', 'Token URL', '', { inputmode: 'url' })}
      ${text('oauth.clientId', 'Client id', '')}
      ${text('oauth.clientSecret', 'Client secret', isNew ? '' : 'It is not shown. Enter it again to change these settings.', { type: 'password', autocomplete: 'new-password' })}
      ${text('oauth.scope', 'Scope', 'Optional.')}
      ${text('oauth.audience', 'Audience', 'Optional.')}</fieldset>
    <fieldset><legend>Client certificate (mTLS)</legend>
      ${text('tls.cert', 'Certificate', 'As PEM text.', PEM)}
      ${text('tls.key', 'Private key', isNew ? 'As PEM text.' : 'It is not shown. Enter it again to change these settings.', PEM)}
      ${text('tls.ca', 'Certificate authorities', 'The only ones that may sign the certificate of the receiver. Empty: the public ones.', PEM)}</fieldset>
  </details>`
}

function Text({ id, label, hint, error, value, onInput, more: { lines, ...more } }) {
  const attributes = {
    id: `push-${id}`,
    autocomplete: 'off',
    spellcheck: false,
    'aria-invalid': error !== undefined,
    'aria-describedby': `push-${id}-hint push-${id}-error`,
    value,
    onInput,
    ...more,
  }
  return html`<div class="field"><label for=${`push-${id}`}>${label}</label>
    ${lines ? html`<textarea rows=${lines} ...${attributes}></textarea>` : html`<input ...${attributes} />`}
    <p class="hint" id=${`push-${id}-hint`}>${hint}</p>
    <p class="error" id=${`push-${id}-error`} role=${error ? 'alert' : undefined}>${error}</p></div>`
}

function Secret({ of: { name, secret }, isNew, close }) {
  return html`<h2 id="form-title">${isNew ? `${name} is created` : `${name} has a new secret`}</h2>
    <p>This is its signing secret. Copy it now: it will not be shown again.</p>
    <pre tabindex="0" aria-label="Signing secret">${secret}</pre>
    <div class="buttons"><${Copy} text=${secret} /><button type="button" class="primary" onClick=${close}>Done</button></div>`
}

function topicOf({ topic }) {
  return topic.trim() === '' ? {} : { topic: topic.trim() }
}
