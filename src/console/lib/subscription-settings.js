import { readJson } from './schema.js'

/** The settings that the daemon replaces as a whole, with the fields of each. */
const COMPOUND = {
  oauth: ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'audience'],
  tls: ['cert', 'key', 'ca'],
  retry: ['attempts', 'delay', 'maxDelay'],
}
/** What the daemon shows in place of a secret. */
const HIDDEN = '[secret]'
const NUMBERS = ['concurrency', 'retry.attempts']
const NAMES = { match: 'Only events that match', headers: 'Headers', oauth: 'OAuth', tls: 'TLS' }

/**
 * The fields of a form for the settings of a subscription: texts and flags by name, such as
 * `oauth.scope`.
 */
export function fieldsOf(settings) {
  const { url = '', match, headers = {}, format = 'event', allowPrivate = false } = settings
  const text = (value) => (value === undefined || value === HIDDEN ? '' : String(value))
  const nested = Object.entries(COMPOUND).flatMap(([name, keys]) =>
    keys.map((key) => [`${name}.${key}`, text(settings[name]?.[key])]),
  )
  return {
    url,
    match: match ? JSON.stringify(match) : '',
    headers: Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    format,
    allowPrivate,
    secret: '',
    rate: text(settings.rate),
    concurrency: text(settings.concurrency),
    timeout: text(settings.timeout),
    ...Object.fromEntries(nested),
  }
}

/** The arguments that differ from `settings`; null removes one. Throws if a field is wrong. */
export function changesOf(given, settings) {
  const before = fieldsOf(settings)
  const changed = Object.keys(before).filter((key) => given[key] !== before[key])
  const names = new Set(changed.map((key) => key.split('.')[0]))
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      COMPOUND[name] ? compoundOf(name, given, settings[name]) : settingOf(name, given[name]),
    ]),
  )
}

function settingOf(name, value) {
  if (typeof value === 'boolean') return value
  const text = value.trim()
  if (text === '' && name !== 'url') return null
  if (name === 'match') return named(name, () => readJson(text, 'object'))
  if (name === 'headers') return named(name, () => headersIn(text))
  return NUMBERS.includes(name) ? Number(text) : text
}

/** All fields of a compound setting. A secret is not shown: without entering it again, it would be lost. */
function compoundOf(name, given, known = {}) {
  const entries = COMPOUND[name].flatMap((key) => {
    const text = given[`${name}.${key}`].trim()
    return text === '' ? [] : [[key, NUMBERS.includes(`${name}.${key}`) ? Number(text) : text]]
  })
  if (entries.length === 0) return null
  const value = Object.fromEntries(entries)
  const lost = Object.keys(known).find((key) => known[key] === HIDDEN && value[key] === undefined)
  if (lost)
    throw new Error(
      `${NAMES[name]}: enter the ${lost === 'key' ? 'private key' : 'client secret'} again. It is not shown, and these settings are replaced together.`,
    )
  return value
}

/** Parses `name: value`, one per line. */
function headersIn(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([\w-]+):\s*(.*?)\s*$/.exec(line) ?? []
      if (!name || value === '') throw new Error(`expected name: value, not ${line}`)
      if (value === HIDDEN)
        throw new Error(
          `enter the value of ${name} again. It is not shown, and headers are replaced together.`,
        )
      return [name, value]
    }),
  )
}

function named(name, read) {
  try {
    return read()
  } catch (error) {
    throw new Error(`${NAMES[name]}: ${error.message}`)
  }
}
