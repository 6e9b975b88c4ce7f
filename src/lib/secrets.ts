import { hash, timingSafeEqual } from 'node:crypto'
import { putLast } from './put-last.ts'

/**
 * Returns the index of the matching secret, or -1. Compares hashes of all secrets, in constant
 * time.
 */
export function createSecretCheck(known: readonly string[]): (given: string) => number {
  const hashes = known.map((secret) => hash('sha256', secret, 'buffer'))
  return (given) => {
    const candidate = hash('sha256', given, 'buffer')
    let found = -1
    hashes.forEach((one, index) => {
      if (timingSafeEqual(one, candidate) && found < 0) found = index
    })
    return found
  }
}

/**
 * Redacts secrets in a text, also in their JSON-escaped form and with URL-encoded characters. The
 * beginning of a secret is redacted too where the text was cut (`CUT_MARK`).
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  const decoded = ENCODED.test(text) ? text.replaceAll(ENCODED_ALL, decodedByte) : undefined
  // The longest first: replacing a part of a longer secret would leave the rest of it.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    for (const form of formsOf(secret)) clean = clean.replaceAll(form, '[secret]')
    if (decoded?.includes(letterRun(secret))) clean = clean.replace(encodedForm(secret), '[secret]')
  }
  return withoutCutSecrets(clean, secrets)
}

const ENCODED = /%[\da-f]{2}/i
const ENCODED_ALL = new RegExp(ENCODED, 'gi')

function decodedByte(encoded: string): string {
  return String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
}

/**
 * The longest run of letters and digits in a secret: the same in every form once URL-encoded
 * characters are decoded. Few texts have it, so the slow search for `encodedForm` is rare.
 */
function letterRun(secret: string): string {
  const runs = secret.match(/[a-z\d]+/gi) ?? []
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '')
}

/** What follows a cut text: see `headOf`. */
const CUT_MARK = /…| \[\d+ characters omitted\]/g
/** Minimum characters of the beginning of a secret that are redacted; fewer may be ordinary text. */
const MIN_START = 4

/** Redacts the beginning of a secret directly before a cut mark. */
function withoutCutSecrets(text: string, secrets: readonly string[]): string {
  let clean = ''
  let end = 0
  for (const { index } of text.matchAll(CUT_MARK)) {
    const part = text.slice(end, index)
    const forms = secrets.flatMap(formsOf)
    const cut = forms.map((form) => withoutStartOf(form, part, MIN_START)).find((left) => left !== part)
    clean += cut === undefined ? part : `${cut}[secret]`
    end = index
  }
  return clean + text.slice(end)
}

/** The patterns of the secrets that were last looked for, as they are slow to make. */
const encodedForms = new Map<string, RegExp>()
const MOST_FORMS = 1_000

/** Matches a secret in which some characters are URL-encoded, whichever they are. */
function encodedForm(secret: string): RegExp {
  const form = encodedForms.get(secret) ?? makeEncodedForm(secret)
  putLast(encodedForms, secret, form, MOST_FORMS)
  return form
}

function makeEncodedForm(secret: string): RegExp {
  const forms = Array.from(secret.toWellFormed(), (character) => {
    const plain = [character, JSON.stringify(character).slice(1, -1), ...(character === ' ' ? ['+'] : [])]
    const bytes = Array.from(Buffer.from(character), (byte) => byte.toString(16).padStart(2, '0'))
    const encoded = bytes.map(
      (byte) => `%${byte.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`,
    )
    return `(?:${[...plain.map(RegExp.escape), encoded.join('')].join('|')})`
  })
  return new RegExp(forms.join(''), 'g')
}

/**
 * Like `withoutSecrets`, for the beginning of a text: a secret that is cut at its end is removed.
 */
export function startWithoutSecrets(start: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap(formsOf)
  // A cut character is decoded as U+FFFD.
  let text = start.replace(/\ufffd+$/, '')
  // Repeated, because the removal may cut another secret.
  for (let left = text; ; text = left) {
    for (const form of forms) left = withoutStartOf(form, left)
    if (left === text) return withoutSecrets(text, secrets)
  }
}

/** Removes the beginning of a secret, of at least `least` characters, from the end of a text. */
function withoutStartOf(secret: string, text: string, least = 1): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= least; length--)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length)
  return text
}

/**
 * The forms in which a secret may be written. The escaped form comes first, because the plain
 * secret may match a part of an escape sequence.
 */
function formsOf(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const isPlain = /^[\w.~-]*$/.test(secret)
  return isPlain ? [secret] : [escaped, secret, encodeURIComponent(secret.toWellFormed())]
}
