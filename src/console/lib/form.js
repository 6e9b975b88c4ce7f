import { useState } from 'preact/hooks'
import { html } from './html.js'
import { fieldsOf, readFields, readJson } from './schema.js'

/**
 * A form for a JSON schema. Calls `run(args)` with valid input. `errors`: those of the daemon, by
 * field name. `isForOperators`: the button is disabled for viewers. `children`: what to know before
 * one presses it.
 */
export function SchemaForm({ schema, run, errors = {}, isBusy, isForOperators = false, children }) {
  const fields = fieldsOf(schema)
  const [values, setValues] = useState({})
  const [ownErrors, setOwnErrors] = useState({})
  const submit = (event) => {
    event.preventDefault()
    if (isBusy) return
    const { args, errors: found } = fields ? readFields(fields, values) : readWhole(values[''])
    setOwnErrors(found)
    const [first] = Object.keys(found)
    if (first === undefined) run(args)
    else event.target.querySelector(`[data-field="${CSS.escape(first)}"]`)?.focus()
  }
  const shown = fields ?? [
    { name: '', kind: 'json', required: false, description: 'The arguments, as JSON', shape: 'object' },
  ]
  const inputs = shown.map(
    (
      field,
    ) => html`<${Field} key=${field.name} field=${field} value=${values[field.name] ?? ''} error=${ownErrors[field.name] ?? errors[field.name]}
        set=${(value) => setValues((last) => ({ ...last, [field.name]: value }))} />`,
  )
  return html`<form class="form" noValidate onSubmit=${submit}>
    ${fields ? inputs : html`<p class="dim">It names no arguments.</p><details><summary>Pass arguments all the same</summary>${inputs}</details>`}
    ${fields?.length === 0 && html`<p class="dim">It takes no arguments.</p>`}
    <div class="buttons"><button changes=${isForOperators} class="primary" aria-disabled=${isBusy}>${isBusy ? 'Running …' : 'Run'}</button>${children}</div>
  </form>`
}

/** For a schema without properties: all arguments as one JSON object. */
function readWhole(text = '') {
  try {
    return { args: text.trim() === '' ? {} : readJson(text, 'object'), errors: {} }
  } catch (error) {
    return { args: {}, errors: { '': error.message } }
  }
}

/** One argument: name, description, and error, or a `warning` that does not keep it from being sent. */
export function Field({ field, value, set, error, warning }) {
  const { name, required, description, kind } = field
  const id = `field-${name || 'all'}`
  const notes = [description, kind === 'lines' && 'One per line.', kind === 'json' && name && 'As JSON.']
    .filter(Boolean)
    .join(' ')
  const attributes = {
    id,
    'data-field': name,
    'aria-required': required,
    'aria-invalid': error !== undefined,
    'aria-describedby': `${id}-notes ${id}-error`,
    ...(warning && { 'aria-invalid': true }),
    value,
    spellcheck: kind === 'long' && !field.isCode,
    placeholder: placeholderOf(field),
    onInput: (event) => set(event.target.value),
  }
  return html`<div class="field">
    <label for=${id}>${name || 'arguments'}${required && html`<span class="needed"> required</span>`}</label>
    ${inputOf(field, attributes)}
    <p class="hint" id=${`${id}-notes`}>${notes}</p>
    <p class="error" id=${`${id}-error`} role=${error ? 'alert' : undefined}>${error ?? warning}</p>
  </div>`
}

function inputOf(field, attributes) {
  const { kind, options, rows, isCode = false } = field
  if (kind === 'flag' || kind === 'choice') {
    const choices = kind === 'flag' ? [true, false] : options
    const { placeholder: _placeholder, onInput, ...rest } = attributes
    return html`<select ...${rest} onChange=${onInput}><option value="">${emptyChoiceOf(field)}</option>
      ${choices.map((option) => html`<option key=${option} value=${String(option)}>${String(option)}</option>`)}</select>`
  }
  if (kind === 'number') return html`<input type="number" step="any" ...${attributes} />`
  if (kind === 'text') return html`<input type="text" autocomplete="off" ...${attributes} />`
  return html`<textarea rows=${rows ?? (kind === 'long' ? 4 : 3)} class=${kind === 'long' && !isCode ? 'prose' : ''} ...${attributes}></textarea>`
}

/** The label of the choice that gives no value. */
function emptyChoiceOf({ required, otherwise }) {
  if (required) return 'choose …'
  return otherwise === undefined ? 'not given' : `${otherwise} (default)`
}

function placeholderOf({ otherwise, kind, shape }) {
  if (kind === 'lines') return Array.isArray(otherwise) ? otherwise.join('\n') : undefined
  if (otherwise !== undefined && otherwise !== null)
    return typeof otherwise === 'string' ? otherwise : JSON.stringify(otherwise)
  return kind === 'json' ? { object: '{ }', array: '[ ]' }[shape] : undefined
}
